"""Kubeconfigs as people have them, and as nobody should: those that kubectl is asked about, too.

`{http}` and `{https}` are the servers, `{ca}`, `{crt}`, `{key}` and `{token}` files, `{caData}`,
`{crtData}` and `{keyData}` what is in them; `{plugin}` prints an ExecCredential with a token.
"""

from typing import Any

import yaml

Json = dict[str, Any]
V1 = "client.authentication.k8s.io/v1"
TLS = {"server": "{https}", "certificate-authority": "{ca}"}
EXEC = {"apiVersion": V1, "command": "{plugin}", "interactiveMode": "Never"}
OIDC = {"idp-issuer-url": "https://127.0.0.1:1", "client-id": "c"}
LATER = "eyJhbGciOiJub25lIn0.eyJleHAiOjQxMDI0NDQ4MDB9.x"
"""A token that expires in 2100."""
EARLIER = "eyJhbGciOiJub25lIn0.eyJleHAiOjEwMDAwMDAwMDB9.x"


def document(user: Any = None, cluster: Any = None, **more: Any) -> Json:
    """Return a kubeconfig with one context."""
    tree: Json = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": TLS if cluster is None else cluster}],
        "users": [{"name": "u", "user": {"token": "t"} if user is None else user}],
    }
    return {key: one for key, one in {**tree, **more}.items() if one is not ...}


def _texts() -> dict[str, str]:
    """Return those whose text matters."""
    plain = yaml.safe_dump(document())
    return {
        "tokens in octal": plain.replace("token: t", "token: 0777"),
        "a token that is true": plain.replace("token: t", "token: yes"),
        "a token with a tag": plain.replace("token: t", "token: !!str 0777"),
        "a token with an unknown tag": plain.replace("token: t", "token: !secret t"),
        "a token of bytes": plain.replace("token: t", "token: !!binary dA=="),
        "a key twice": plain.replace("token: t", "token: t\n    token: s"),
        "two documents": plain + "---\n" + plain.replace("token: t", "token: s"),
        "a byte order mark": "\ufeff" + plain,
        "tabs": plain.replace("  ", "\t"),
        "no YAML": "{" + plain,
        "a text": "hello",
        "a list": "[1, 2]",
        "a number": "42",
        "null": "null",
        "nothing": "",
        "a comment": "# nothing\n",
        "merged": plain.replace("user:\n    token: t", "user: {<<: {token: t}}"),
        "an alias": plain.replace("token: t", "token: &t t\n    tokenFile: ''\n    username: ''"),
        "JSON": '{"apiVersion": "v1", "kind": "Config", "current-context": "here", "contexts": '
        '[{"name": "here", "context": {"cluster": "c", "user": "u"}}], "clusters": [{"name": "c", '
        '"cluster": {"server": "{https}", "insecure-skip-tls-verify": true}}], "users": [{"name": '
        '"u", "user": {"token": "t"}}]}',
    }


def _users() -> dict[str, Json]:
    """Return users, each on a server with TLS and on one without."""
    return {
        "nobody": {},
        "a token": {"token": "t"},
        "a token file": {"tokenFile": "{token}"},
        "a token and its file": {"token": "t", "tokenFile": "{token}"},
        "a token file that is missing": {"tokenFile": "/nowhere/t"},
        "a token and a file that is missing": {"token": "t", "tokenFile": "/nowhere/t"},
        "a password": {"username": "name", "password": "pass"},
        "a name without a password": {"username": "name"},
        "a password without a name": {"password": "pass"},
        "a token and a password": {"token": "t", "username": "name", "password": "pass"},
        "a token file and a password": {
            "tokenFile": "{token}",
            "username": "name",
            "password": "pass",
        },
        "a certificate": {"client-certificate": "{crt}", "client-key": "{key}"},
        "a certificate as data": {
            "client-certificate-data": "{crtData}",
            "client-key-data": "{keyData}",
        },
        "a certificate without its key": {"client-certificate": "{crt}"},
        "a key without its certificate": {"client-key": "{key}"},
        "a certificate that is missing": {
            "client-certificate": "/nowhere/c",
            "client-key": "{key}",
        },
        "a certificate twice": {
            "client-certificate": "{crt}",
            "client-certificate-data": "{crtData}",
            "client-key": "{key}",
        },
        "a plugin": {"exec": EXEC},
        "a plugin and a token": {"exec": EXEC, "token": "t"},
        "a plugin and a certificate": {
            "exec": EXEC,
            "client-certificate": "{crt}",
            "client-key": "{key}",
        },
        "a plugin without a command": {"exec": {**EXEC, "command": ""}},
        "a plugin without a version": {"exec": {**EXEC, "apiVersion": ""}},
        "a plugin of an old version": {
            "exec": {**EXEC, "apiVersion": "client.authentication.k8s.io/v1alpha1"}
        },
        "a plugin of no mode": {"exec": {"apiVersion": V1, "command": "{plugin}"}},
        "a plugin of another mode": {"exec": {**EXEC, "interactiveMode": "Sometimes"}},
        "a plugin that is missing": {"exec": {**EXEC, "command": "/nowhere/plugin"}},
        "a plugin that fails": {"exec": {**EXEC, "command": "false"}},
        "a plugin that prints nothing": {"exec": {**EXEC, "command": "true"}},
        "a plugin beside a provider": {"exec": EXEC, "auth-provider": {"name": "oidc"}},
        "as somebody": {"token": "t", "as": "jane", "as-groups": ["a", "b"], "as-uid": "1"},
        "as somebody with more": {"token": "t", "as": "jane", "as-user-extra": {"Scope/x": ["1"]}},
        "as a group alone": {"token": "t", "as-groups": ["system:masters"]},
        "the provider gcp": {"auth-provider": {"name": "gcp", "config": {"access-token": "t"}}},
        "the provider azure": {"auth-provider": {"name": "azure", "config": {"access-token": "t"}}},
        "an unknown provider": {"auth-provider": {"name": "else", "config": {"access-token": "t"}}},
        "a provider without a name": {"auth-provider": {"config": {"access-token": "t"}}},
        "the provider oidc": {
            "auth-provider": {"name": "oidc", "config": {**OIDC, "id-token": LATER}}
        },
        "oidc that has expired": {
            "auth-provider": {"name": "oidc", "config": {**OIDC, "id-token": EARLIER}}
        },
        "oidc without an issuer": {
            "auth-provider": {"name": "oidc", "config": {"id-token": LATER}}
        },
        "oidc without a client": {
            "auth-provider": {"name": "oidc", "config": {"idp-issuer-url": "https://127.0.0.1:1"}}
        },
        "oidc with no token": {
            "auth-provider": {"name": "oidc", "config": {**OIDC, "id-token": "x"}}
        },
        "oidc beside a token": {
            "token": "t",
            "auth-provider": {"name": "oidc", "config": {**OIDC, "id-token": LATER}},
        },
        "a token of two lines": {"token": "a\nb"},
        "a token that is a number": {"token": 5},
    }


def _clusters() -> dict[str, Json]:
    """Return clusters."""
    return {
        "no server": {"insecure-skip-tls-verify": True},
        "an empty cluster": {},
        "a password in the server": {**TLS, "server": "https://n:p@{httpsHost}"},
        "a password in a server without TLS": {"server": "http://n:p@{httpHost}"},
        "a name in the server": {**TLS, "server": "https://n@{httpsHost}"},
        "no scheme": {"server": "{httpHost}"},
        "no scheme, and an authority": {**TLS, "server": "{httpsHost}"},
        "a path": {**TLS, "server": "{https}/a/b"},
        "a query": {**TLS, "server": "{https}/a?b=c"},
        "another scheme": {**TLS, "server": "ftp://{httpsHost}"},
        "no host": {**TLS, "server": "https://"},
        "an authority and insecure": {**TLS, "insecure-skip-tls-verify": True},
        "insecure": {"server": "{https}", "insecure-skip-tls-verify": True},
        "an authority twice": {**TLS, "certificate-authority-data": "{caData}"},
        "an authority as data": {"server": "{https}", "certificate-authority-data": "{caData}"},
        "an authority that is missing": {**TLS, "certificate-authority": "/nowhere/ca"},
        "an authority that is none": {**TLS, "certificate-authority": "{token}"},
        "an authority that is no base64": {"server": "{https}", "certificate-authority-data": "%"},
        "nobody's authority": {"server": "{https}"},
        "insecure as a text": {"server": "{https}", "insecure-skip-tls-verify": "true"},
        "a server that is a list": {"server": ["{https}"]},
    }


def _wholes() -> dict[str, Json]:
    """Return what concerns a kubeconfig as a whole."""
    again = [{"name": "u", "user": {"token": "t"}}, {"name": "u", "user": {"token": "s"}}]
    context = {"name": "here", "context": {"cluster": "c", "user": "u"}}
    cluster = {"name": "c", "cluster": TLS}
    return {
        "users with one name": document(users=again),
        "contexts with one name": document(contexts=[context, context]),
        "clusters with one name": document(clusters=[cluster, cluster]),
        "users without a name": document(users=[{"user": {"token": "t"}}]),
        "another kind": document(kind="Pod"),
        "no kind": document(kind=...),
        "a kind that is a number": document(kind=5),
        "another version": document(apiVersion="v2"),
        "another group": document(apiVersion="apps/v1"),
        "no version": document(apiVersion=...),
        "neither version nor kind": document(apiVersion=..., kind=...),
        "no current context": document(**{"current-context": ...}),
        "a current context that is missing": document(**{"current-context": "there"}),
        "a context without a user": document(
            contexts=[{"name": "here", "context": {"cluster": "c"}}]
        ),
        "a context whose user is missing": document(
            contexts=[{"name": "here", "context": {"cluster": "c", "user": "x"}}]
        ),
        "a context without a cluster": document(
            contexts=[{"name": "here", "context": {"user": "u"}}]
        ),
        "a context whose cluster is missing": document(
            contexts=[{"name": "here", "context": {"cluster": "x", "user": "u"}}]
        ),
        "a namespace that is none": document(
            contexts=[{"name": "here", "context": {"cluster": "c", "user": "u", "namespace": "A_"}}]
        ),
        "users that are an object": document(users={"u": {"token": "t"}}),
        "users that are null": document(users=None),
        "an unknown field": document(more={"a": 1}),
        "a fault in another user": document(
            users=[{"name": "u", "user": {"token": "t"}}, {"name": "w", "user": {"token": ["t"]}}]
        ),
        "another user without a key": document(
            users=[
                {"name": "u", "user": {"token": "t"}},
                {"name": "w", "user": {"client-certificate": "/nowhere"}},
            ]
        ),
    }


def cases() -> dict[str, str]:
    """Return the text of each kubeconfig by its name."""
    found = _texts() | {name: yaml.safe_dump(tree) for name, tree in _wholes().items()}
    for name, user in _users().items():
        found[name] = yaml.safe_dump(document(user))
        found[f"{name}, without TLS"] = yaml.safe_dump(document(user, {"server": "{http}"}))
    for name, cluster in _clusters().items():
        found[name] = yaml.safe_dump(document(None, cluster))
    return found
