"""Every function overload of Kubernetes' CEL, with the version that introduced it.

A line holds: first Kubernetes version (1.28 stands for 1.28 and before), with the last one behind
a dash where there is one, call style, overload id, signature. The receiver of a member function is its first parameter. `<A>` is a type parameter.
Braces hold alternatives, or the name of some: the line stands for one overload with the first
alternative of each brace, one with the second of each, and so on.
Source: `cel.Env.Functions()` of the base environments. Selectors and rules have no authorizer;
its functions are declared so that a call of them fails with cel-go's text.
"""

# ruff: noqa: E501 — one overload, or one family of them, a line

ALTERNATIVES = {
    "comparison": "less|less_equals|greater|greater_equals",
    "operator": "_<_|_<=_|_>_|_>=_",
    "comparable": "int|uint|double|bool|duration|timestamp|string|bytes",
    "qualified": "int|uint|double|bool|google.protobuf.Duration|google.protobuf.Timestamp|string|bytes",
    "summable": "int|uint|double|duration",
    "format": (
        "byte|date|datetime|dns1035Label|dns1035LabelPrefix|dns1123Label|dns1123LabelPrefix"
        "|dns1123Subdomain|dns1123SubdomainPrefix|labelValue|qualifiedName|uri|uuid"
    ),
}
"""Alternatives by the name that stands for them."""

SIGNATURES = """
1.28 global logical_not !_(bool) -> bool
1.28 global negate_{double|int64} -_({double|int}) -> {double|int}
1.28 global in_list @in(<A>, list(<A>)) -> bool
1.28 global in_map @in(<A>, map(<A>, <B>)) -> bool
1.28 global not_strictly_false @not_strictly_false(bool) -> bool
1.28 global modulo_{int64|uint64} _%_({int|uint}, {int|uint}) -> {int|uint}
1.28 global logical_and _&&_(bool, bool) -> bool
1.28 global multiply_{double|int64|uint64} _*_({double|int|uint}, {double|int|uint}) -> {double|int|uint}
1.28 global add_{bytes|double} _+_({bytes|double}, {bytes|double}) -> {bytes|double}
1.28 global add_duration_duration _+_(duration, duration) -> duration
1.28 global add_duration_timestamp _+_(duration, timestamp) -> timestamp
1.28 global add_timestamp_duration _+_(timestamp, duration) -> timestamp
1.28 global add_int64 _+_(int, int) -> int
1.28 global add_list _+_(list(<A>), list(<A>)) -> list(<A>)
1.28 global add_string _+_(string, string) -> string
1.28 global add_uint64 _+_(uint, uint) -> uint
1.28 global subtract_double _-_(double, double) -> double
1.28 global subtract_duration_duration _-_(duration, duration) -> duration
1.28 global subtract_int64 _-_(int, int) -> int
1.28 global subtract_timestamp_duration _-_(timestamp, duration) -> timestamp
1.28 global subtract_timestamp_timestamp _-_(timestamp, timestamp) -> duration
1.28 global subtract_uint64 _-_(uint, uint) -> uint
1.28 global divide_{double|int64|uint64} _/_({double|int|uint}, {double|int|uint}) -> {double|int|uint}
1.28 global {comparison}_bool {operator}(bool, bool) -> bool
1.28 global {comparison}_int64 {operator}(int, int) -> bool
1.28 global {comparison}_int64_double {operator}(int, double) -> bool
1.28 global {comparison}_int64_uint64 {operator}(int, uint) -> bool
1.28 global {comparison}_uint64 {operator}(uint, uint) -> bool
1.28 global {comparison}_uint64_double {operator}(uint, double) -> bool
1.28 global {comparison}_uint64_int64 {operator}(uint, int) -> bool
1.28 global {comparison}_double {operator}(double, double) -> bool
1.28 global {comparison}_double_int64 {operator}(double, int) -> bool
1.28 global {comparison}_double_uint64 {operator}(double, uint) -> bool
1.28 global {comparison}_string {operator}(string, string) -> bool
1.28 global {comparison}_bytes {operator}(bytes, bytes) -> bool
1.28 global {comparison}_timestamp {operator}(timestamp, timestamp) -> bool
1.28 global {comparison}_duration {operator}(duration, duration) -> bool
1.28 global select_optional_field _?._(dyn, string) -> optional_type(<V>)
1.28 global {equals|not_equals} {_==_|_!=_}(<A>, <A>) -> bool
1.28 global conditional _?_:_(bool, <A>, <A>) -> <A>
1.28 global list_optindex_optional_int _[?_](list(<V>), int) -> optional_type(<V>)
1.28 global optional_list_optindex_optional_int _[?_](optional_type(list(<V>)), int) -> optional_type(<V>)
1.28 global map_optindex_optional_value _[?_](map(<K>, <V>), <K>) -> optional_type(<V>)
1.28 global optional_map_optindex_optional_value _[?_](optional_type(map(<K>, <V>)), <K>) -> optional_type(<V>)
1.28 global index_list _[_](list(<A>), int) -> <A>
1.28 global index_map _[_](map(<A>, <B>), <A>) -> <B>
1.28 global optional_list_index_int _[_](optional_type(list(<V>)), int) -> optional_type(<V>)
1.28 global optional_map_index_value _[_](optional_type(map(<K>, <V>)), <K>) -> optional_type(<V>)
1.28 global logical_or _||_(bool, bool) -> bool
1.28 member quantity_{add|sub} {add|sub}(kubernetes.Quantity, kubernetes.Quantity) -> kubernetes.Quantity
1.28 member quantity_{add|sub}_int {add|sub}(kubernetes.Quantity, int) -> kubernetes.Quantity
1.28 member quantity_get_float asApproximateFloat(kubernetes.Quantity) -> double
1.28 member quantity_get_int asInteger(kubernetes.Quantity) -> int
1.28 global {bool|string}_to_bool bool({bool|string}) -> bool
1.28 global {bytes|string}_to_bytes bytes({bytes|string}) -> bytes
1.28 member string_char_at_int charAt(string, int) -> string
1.28 member quantity_compare_to compareTo(kubernetes.Quantity, kubernetes.Quantity) -> int
1.28 member {contains|ends_with|starts_with}_string {contains|endsWith|startsWith}(string, string) -> bool
1.28 global {double|int64|string|uint64}_to_double double({double|int|string|uint}) -> double
1.28 global duration_to_duration duration(duration) -> duration
1.28-1.36 global int64_to_duration duration(int) -> duration
1.28 global string_to_duration duration(string) -> duration
1.28 global to_dyn dyn(<A>) -> dyn
1.28 member string_find_string find(string, string) -> string
1.28 member string_find_all_string{|_int} findAll(string, string{|, int}) -> list(string)
1.28 member list_{first|last} {first|last}(list(<V>)) -> optional_type(<V>)
1.28 member timestamp_to_day_of_month_1_based{|_with_tz} getDate(timestamp{|, string}) -> int
1.28 member timestamp_to_day_of_month{|_with_tz} getDayOfMonth(timestamp{|, string}) -> int
1.28 member timestamp_to_day_of_week{|_with_tz} getDayOfWeek(timestamp{|, string}) -> int
1.28 member timestamp_to_day_of_year{|_with_tz} getDayOfYear(timestamp{|, string}) -> int
1.28 member url_get_{escaped_path|host|hostname|port|scheme} {getEscapedPath|getHost|getHostname|getPort|getScheme}(kubernetes.URL) -> string
1.28 member timestamp_to_year{|_with_tz} getFullYear(timestamp{|, string}) -> int
1.28 member timestamp_to_hours{|_with_tz} getHours(timestamp{|, string}) -> int
1.28 member timestamp_to_milliseconds{|_with_tz} getMilliseconds(timestamp{|, string}) -> int
1.28 member timestamp_to_minutes{|_with_tz} getMinutes(timestamp{|, string}) -> int
1.28 member timestamp_to_month{|_with_tz} getMonth(timestamp{|, string}) -> int
1.28 member url_get_query getQuery(kubernetes.URL) -> map(string, list(string))
1.28 member timestamp_to_seconds{|_tz} getSeconds(timestamp{|, string}) -> int
1.28 member duration_to_{hours|milliseconds|minutes|seconds} {getHours|getMilliseconds|getMinutes|getSeconds}(duration) -> int
1.28 member optional_hasValue hasValue(optional_type(<V>)) -> bool
1.28 member list_a_{index|last_index}_of_int {indexOf|lastIndexOf}(list(<A>), <A>) -> int
1.28 member string_index_of_string{|_int} indexOf(string, string{|, int}) -> int
1.28 global {int64|double|duration|string|timestamp|uint64}_to_int64 int({int|double|duration|string|timestamp|uint}) -> int
1.28 member quantity_is_{greater|less}_than {isGreaterThan|isLessThan}(kubernetes.Quantity, kubernetes.Quantity) -> bool
1.28 member quantity_is_integer isInteger(kubernetes.Quantity) -> bool
1.28 global is_quantity_string isQuantity(string) -> bool
1.28 member list_{comparable}_is_sorted_bool isSorted(list({comparable})) -> bool
1.28 global is_url_string isURL(string) -> bool
1.28 member list_join{|_string} join(list(string){|, string}) -> string
1.28 member string_last_index_of_string{|_int} lastIndexOf(string, string{|, int}) -> int
1.28 member string_{lower|upper}_ascii {lowerAscii|upperAscii}(string) -> string
1.28 {global matches|member matches_string} matches(string, string) -> bool
1.28 member list_{comparable}_max_{comparable} max(list({comparable})) -> {comparable}
1.28 member list_{comparable}_min_{comparable} min(list({comparable})) -> {comparable}
1.28 global optional_none optional.none() -> optional_type(<V>)
1.28 global optional_of optional.of(<V>) -> optional_type(<V>)
1.28 global optional_ofNonZeroValue optional.ofNonZeroValue(<V>) -> optional_type(<V>)
1.28 global optional_unwrap optional.unwrap(list(optional_type(<V>))) -> list(<V>)
1.28 member optional_or_optional or(optional_type(<V>), optional_type(<V>)) -> optional_type(<V>)
1.28 member optional_orValue_value orValue(optional_type(<V>), <V>) -> <V>
1.28 global string_to_quantity quantity(string) -> kubernetes.Quantity
1.28 member string_replace_string_string{|_int} replace(string, string, string{|, int}) -> string
1.28 global quantity_sign sign(kubernetes.Quantity) -> int
1.28 {global size_bytes|member bytes_size} size(bytes) -> int
1.28 {global size_list|member list_size} size(list(<A>)) -> int
1.28 {global size_map|member map_size} size(map(<A>, <B>)) -> int
1.28 {global size_string|member string_size} size(string) -> int
1.28 member string_split_string{|_int} split(string, string{|, int}) -> list(string)
1.28 global {string|bool|bytes|double}_to_string string({string|bool|bytes|double}) -> string
1.28 global {duration|int64|timestamp|uint64}_to_string string({duration|int|timestamp|uint}) -> string
1.28 member string_substring_int{|_int} substring(string, int{|, int}) -> string
1.28 member list_{summable}_sum_{summable} sum(list({summable})) -> {summable}
1.28 global {timestamp|int64|string}_to_timestamp timestamp({timestamp|int|string}) -> timestamp
1.28 member string_trim trim(string) -> string
1.28 global type type(<A>) -> type(<A>)
1.28 global {uint64|double|int64|string}_to_uint64 uint({uint|double|int|string}) -> uint
1.28 member optional_unwrapOpt unwrapOpt(list(optional_type(<V>))) -> list(<V>)
1.28 global string_to_url url(string) -> kubernetes.URL
1.28 member optional_value value(optional_type(<V>)) -> <V>
1.28 member decision_{allowed|errored} {allowed|errored}(kubernetes.authorization.Decision) -> bool
1.28 member {pathcheck|resourcecheck}_check check(kubernetes.authorization.{PathCheck|ResourceCheck}, string) -> kubernetes.authorization.Decision
1.28 member decision_{error|reason} {error|reason}(kubernetes.authorization.Decision) -> string
1.28 member authorizer_{fieldselector|labelselector} {fieldSelector|labelSelector}(kubernetes.authorization.ResourceCheck, string) -> kubernetes.authorization.ResourceCheck
1.28 member authorizer_group group(kubernetes.authorization.Authorizer, string) -> kubernetes.authorization.GroupCheck
1.28 member resourcecheck_{name|namespace|subresource} {name|namespace|subresource}(kubernetes.authorization.ResourceCheck, string) -> kubernetes.authorization.ResourceCheck
1.28 member authorizer_path path(kubernetes.authorization.Authorizer, string) -> kubernetes.authorization.PathCheck
1.28 member groupcheck_resource resource(kubernetes.authorization.GroupCheck, string) -> kubernetes.authorization.ResourceCheck
1.28 member authorizer_serviceaccount serviceAccount(kubernetes.authorization.Authorizer, string, string) -> kubernetes.authorization.Authorizer
1.29 member string_format format(string, list(dyn)) -> string
1.29 global list_sets_{contains|equivalent|intersects}_list sets.{contains|equivalent|intersects}(list(<T>), list(<T>)) -> bool
1.29 global strings_quote strings.quote(string) -> string
1.30 global string_to_{cidr|ip} {cidr|ip}(string) -> net.{CIDR|IP}
1.30 member cidr_contains_cidr{_string|} containsCIDR(net.CIDR, {string|net.CIDR}) -> bool
1.30 member cidr_contains_ip_{string|ip} containsIP(net.CIDR, {string|net.IP}) -> bool
1.30 member ip_family family(net.IP) -> int
1.30 member cidr_ip ip(net.CIDR) -> net.IP
1.30 global ip_is_canonical ip.isCanonical(string) -> bool
1.30 global is_{cidr|ip} {isCIDR|isIP}(string) -> bool
1.30 member ip_is_{global_unicast|link_local_multicast|link_local_unicast|loopback|unspecified} {isGlobalUnicast|isLinkLocalMulticast|isLinkLocalUnicast|isLoopback|isUnspecified}(net.IP) -> bool
1.30 member cidr_masked masked(net.CIDR) -> net.CIDR
1.30 member cidr_prefix_length prefixLength(net.CIDR) -> int
1.30 global {ip|cidr}_to_string string(net.{IP|CIDR}) -> string
1.31 global format.{format} format.{format}() -> kubernetes.NamedFormat
1.31 global format-named format.named(string) -> optional_type(kubernetes.NamedFormat)
1.31 member format-validate validate(kubernetes.NamedFormat, string) -> optional_type(list(string))
1.32 global @mapInsert_map_key_value cel.@mapInsert(map(<K>, <V>), <K>, <V>) -> map(<K>, <V>)
1.32 global @mapInsert_map_map cel.@mapInsert(map(<K>, <V>), map(<K>, <V>)) -> map(<K>, <V>)
1.33 member semver_compare_to compareTo(kubernetes.Semver, kubernetes.Semver) -> int
1.33 member semver_is_{greater|less}_than {isGreaterThan|isLessThan}(kubernetes.Semver, kubernetes.Semver) -> bool
1.33 global is_semver_string{|_bool} isSemver(string{|, bool}) -> bool
1.33 member semver_{major|minor|patch} {major|minor|patch}(kubernetes.Semver) -> int
1.33 global string{|_bool}_to_semver semver(string{|, bool}) -> kubernetes.Semver
1.34 member list_{qualified}_sortByAssociatedKeys @sortByAssociatedKeys(list(<T>), list({comparable})) -> list(<T>)
1.34 member list_distinct distinct(list(<T>)) -> list(<T>)
1.34 member list_flatten flatten(list(list(<T>))) -> list(<T>)
1.34 member list_flatten_int flatten(list(dyn), int) -> list(dyn)
1.34 global lists_range lists.range(int) -> list(int)
1.34 member list_reverse reverse(list(<T>)) -> list(<T>)
1.34 member list_slice slice(list(<T>), int, int) -> list(<T>)
1.34 member list_{qualified}_sort sort(list({comparable})) -> list({comparable})
1.37 member list_includes_dyn_dyn includes(dyn, dyn) -> bool
1.38 member cidr_is_mask isMask(net.CIDR) -> bool
"""
