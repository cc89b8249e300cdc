module dragoman.dev/controlplane/relay

go 1.24
