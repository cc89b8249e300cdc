"""Every function overload of Kubernetes' CEL, with the version that introduced it.

A line holds: first Kubernetes version (1.28 stands for 1.28 and before), call style, overload id,
signature. The receiver of a member function is its first parameter. `<A>` is a type parameter.
Source: `cel.Env.Functions()` of the 1.36 base environment. Selectors and rules have no authorizer;
its functions are declared so that a call of them fails with cel-go's text.
"""

# ruff: noqa: E501 — one overload a line
from __future__ import annotations

from typing import Final

SIGNATURES: Final = """
1.28 global logical_not !_(bool) -> bool
1.28 global negate_double -_(double) -> double
1.28 global negate_int64 -_(int) -> int
1.28 global in_list @in(<A>, list(<A>)) -> bool
1.28 global in_map @in(<A>, map(<A>, <B>)) -> bool
1.28 global not_strictly_false @not_strictly_false(bool) -> bool
1.28 global not_equals _!=_(<A>, <A>) -> bool
1.28 global modulo_int64 _%_(int, int) -> int
1.28 global modulo_uint64 _%_(uint, uint) -> uint
1.28 global logical_and _&&_(bool, bool) -> bool
1.28 global multiply_double _*_(double, double) -> double
1.28 global multiply_int64 _*_(int, int) -> int
1.28 global multiply_uint64 _*_(uint, uint) -> uint
1.28 global add_bytes _+_(bytes, bytes) -> bytes
1.28 global add_double _+_(double, double) -> double
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
1.28 global divide_double _/_(double, double) -> double
1.28 global divide_int64 _/_(int, int) -> int
1.28 global divide_uint64 _/_(uint, uint) -> uint
1.28 global less_equals_bool _<=_(bool, bool) -> bool
1.28 global less_equals_int64 _<=_(int, int) -> bool
1.28 global less_equals_int64_double _<=_(int, double) -> bool
1.28 global less_equals_int64_uint64 _<=_(int, uint) -> bool
1.28 global less_equals_uint64 _<=_(uint, uint) -> bool
1.28 global less_equals_uint64_double _<=_(uint, double) -> bool
1.28 global less_equals_uint64_int64 _<=_(uint, int) -> bool
1.28 global less_equals_double _<=_(double, double) -> bool
1.28 global less_equals_double_int64 _<=_(double, int) -> bool
1.28 global less_equals_double_uint64 _<=_(double, uint) -> bool
1.28 global less_equals_string _<=_(string, string) -> bool
1.28 global less_equals_bytes _<=_(bytes, bytes) -> bool
1.28 global less_equals_timestamp _<=_(timestamp, timestamp) -> bool
1.28 global less_equals_duration _<=_(duration, duration) -> bool
1.28 global less_bool _<_(bool, bool) -> bool
1.28 global less_int64 _<_(int, int) -> bool
1.28 global less_int64_double _<_(int, double) -> bool
1.28 global less_int64_uint64 _<_(int, uint) -> bool
1.28 global less_uint64 _<_(uint, uint) -> bool
1.28 global less_uint64_double _<_(uint, double) -> bool
1.28 global less_uint64_int64 _<_(uint, int) -> bool
1.28 global less_double _<_(double, double) -> bool
1.28 global less_double_int64 _<_(double, int) -> bool
1.28 global less_double_uint64 _<_(double, uint) -> bool
1.28 global less_string _<_(string, string) -> bool
1.28 global less_bytes _<_(bytes, bytes) -> bool
1.28 global less_timestamp _<_(timestamp, timestamp) -> bool
1.28 global less_duration _<_(duration, duration) -> bool
1.28 global equals _==_(<A>, <A>) -> bool
1.28 global greater_equals_bool _>=_(bool, bool) -> bool
1.28 global greater_equals_int64 _>=_(int, int) -> bool
1.28 global greater_equals_int64_double _>=_(int, double) -> bool
1.28 global greater_equals_int64_uint64 _>=_(int, uint) -> bool
1.28 global greater_equals_uint64 _>=_(uint, uint) -> bool
1.28 global greater_equals_uint64_double _>=_(uint, double) -> bool
1.28 global greater_equals_uint64_int64 _>=_(uint, int) -> bool
1.28 global greater_equals_double _>=_(double, double) -> bool
1.28 global greater_equals_double_int64 _>=_(double, int) -> bool
1.28 global greater_equals_double_uint64 _>=_(double, uint) -> bool
1.28 global greater_equals_string _>=_(string, string) -> bool
1.28 global greater_equals_bytes _>=_(bytes, bytes) -> bool
1.28 global greater_equals_timestamp _>=_(timestamp, timestamp) -> bool
1.28 global greater_equals_duration _>=_(duration, duration) -> bool
1.28 global greater_bool _>_(bool, bool) -> bool
1.28 global greater_int64 _>_(int, int) -> bool
1.28 global greater_int64_double _>_(int, double) -> bool
1.28 global greater_int64_uint64 _>_(int, uint) -> bool
1.28 global greater_uint64 _>_(uint, uint) -> bool
1.28 global greater_uint64_double _>_(uint, double) -> bool
1.28 global greater_uint64_int64 _>_(uint, int) -> bool
1.28 global greater_double _>_(double, double) -> bool
1.28 global greater_double_int64 _>_(double, int) -> bool
1.28 global greater_double_uint64 _>_(double, uint) -> bool
1.28 global greater_string _>_(string, string) -> bool
1.28 global greater_bytes _>_(bytes, bytes) -> bool
1.28 global greater_timestamp _>_(timestamp, timestamp) -> bool
1.28 global greater_duration _>_(duration, duration) -> bool
1.28 global select_optional_field _?._(dyn, string) -> optional_type(<V>)
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
1.28 member quantity_add add(kubernetes.Quantity, kubernetes.Quantity) -> kubernetes.Quantity
1.28 member quantity_add_int add(kubernetes.Quantity, int) -> kubernetes.Quantity
1.28 member quantity_get_float asApproximateFloat(kubernetes.Quantity) -> double
1.28 member quantity_get_int asInteger(kubernetes.Quantity) -> int
1.28 global bool_to_bool bool(bool) -> bool
1.28 global string_to_bool bool(string) -> bool
1.28 global bytes_to_bytes bytes(bytes) -> bytes
1.28 global string_to_bytes bytes(string) -> bytes
1.28 member string_char_at_int charAt(string, int) -> string
1.28 member quantity_compare_to compareTo(kubernetes.Quantity, kubernetes.Quantity) -> int
1.28 member contains_string contains(string, string) -> bool
1.28 global double_to_double double(double) -> double
1.28 global int64_to_double double(int) -> double
1.28 global string_to_double double(string) -> double
1.28 global uint64_to_double double(uint) -> double
1.28 global duration_to_duration duration(duration) -> duration
1.28 global int64_to_duration duration(int) -> duration
1.28 global string_to_duration duration(string) -> duration
1.28 global to_dyn dyn(<A>) -> dyn
1.28 member ends_with_string endsWith(string, string) -> bool
1.28 member string_find_string find(string, string) -> string
1.28 member string_find_all_string findAll(string, string) -> list(string)
1.28 member string_find_all_string_int findAll(string, string, int) -> list(string)
1.28 member list_first first(list(<V>)) -> optional_type(<V>)
1.28 member timestamp_to_day_of_month_1_based getDate(timestamp) -> int
1.28 member timestamp_to_day_of_month_1_based_with_tz getDate(timestamp, string) -> int
1.28 member timestamp_to_day_of_month getDayOfMonth(timestamp) -> int
1.28 member timestamp_to_day_of_month_with_tz getDayOfMonth(timestamp, string) -> int
1.28 member timestamp_to_day_of_week getDayOfWeek(timestamp) -> int
1.28 member timestamp_to_day_of_week_with_tz getDayOfWeek(timestamp, string) -> int
1.28 member timestamp_to_day_of_year getDayOfYear(timestamp) -> int
1.28 member timestamp_to_day_of_year_with_tz getDayOfYear(timestamp, string) -> int
1.28 member url_get_escaped_path getEscapedPath(kubernetes.URL) -> string
1.28 member timestamp_to_year getFullYear(timestamp) -> int
1.28 member timestamp_to_year_with_tz getFullYear(timestamp, string) -> int
1.28 member url_get_host getHost(kubernetes.URL) -> string
1.28 member url_get_hostname getHostname(kubernetes.URL) -> string
1.28 member timestamp_to_hours getHours(timestamp) -> int
1.28 member timestamp_to_hours_with_tz getHours(timestamp, string) -> int
1.28 member duration_to_hours getHours(duration) -> int
1.28 member timestamp_to_milliseconds getMilliseconds(timestamp) -> int
1.28 member timestamp_to_milliseconds_with_tz getMilliseconds(timestamp, string) -> int
1.28 member duration_to_milliseconds getMilliseconds(duration) -> int
1.28 member timestamp_to_minutes getMinutes(timestamp) -> int
1.28 member timestamp_to_minutes_with_tz getMinutes(timestamp, string) -> int
1.28 member duration_to_minutes getMinutes(duration) -> int
1.28 member timestamp_to_month getMonth(timestamp) -> int
1.28 member timestamp_to_month_with_tz getMonth(timestamp, string) -> int
1.28 member url_get_port getPort(kubernetes.URL) -> string
1.28 member url_get_query getQuery(kubernetes.URL) -> map(string, list(string))
1.28 member url_get_scheme getScheme(kubernetes.URL) -> string
1.28 member timestamp_to_seconds getSeconds(timestamp) -> int
1.28 member timestamp_to_seconds_tz getSeconds(timestamp, string) -> int
1.28 member duration_to_seconds getSeconds(duration) -> int
1.28 member optional_hasValue hasValue(optional_type(<V>)) -> bool
1.28 member list_a_index_of_int indexOf(list(<A>), <A>) -> int
1.28 member string_index_of_string indexOf(string, string) -> int
1.28 member string_index_of_string_int indexOf(string, string, int) -> int
1.28 global int64_to_int64 int(int) -> int
1.28 global double_to_int64 int(double) -> int
1.28 global duration_to_int64 int(duration) -> int
1.28 global string_to_int64 int(string) -> int
1.28 global timestamp_to_int64 int(timestamp) -> int
1.28 global uint64_to_int64 int(uint) -> int
1.28 member quantity_is_greater_than isGreaterThan(kubernetes.Quantity, kubernetes.Quantity) -> bool
1.28 member quantity_is_integer isInteger(kubernetes.Quantity) -> bool
1.28 member quantity_is_less_than isLessThan(kubernetes.Quantity, kubernetes.Quantity) -> bool
1.28 global is_quantity_string isQuantity(string) -> bool
1.28 member list_int_is_sorted_bool isSorted(list(int)) -> bool
1.28 member list_uint_is_sorted_bool isSorted(list(uint)) -> bool
1.28 member list_double_is_sorted_bool isSorted(list(double)) -> bool
1.28 member list_bool_is_sorted_bool isSorted(list(bool)) -> bool
1.28 member list_duration_is_sorted_bool isSorted(list(duration)) -> bool
1.28 member list_timestamp_is_sorted_bool isSorted(list(timestamp)) -> bool
1.28 member list_string_is_sorted_bool isSorted(list(string)) -> bool
1.28 member list_bytes_is_sorted_bool isSorted(list(bytes)) -> bool
1.28 global is_url_string isURL(string) -> bool
1.28 member list_join join(list(string)) -> string
1.28 member list_join_string join(list(string), string) -> string
1.28 member list_last last(list(<V>)) -> optional_type(<V>)
1.28 member list_a_last_index_of_int lastIndexOf(list(<A>), <A>) -> int
1.28 member string_last_index_of_string lastIndexOf(string, string) -> int
1.28 member string_last_index_of_string_int lastIndexOf(string, string, int) -> int
1.28 member string_lower_ascii lowerAscii(string) -> string
1.28 global matches matches(string, string) -> bool
1.28 member matches_string matches(string, string) -> bool
1.28 member list_int_max_int max(list(int)) -> int
1.28 member list_uint_max_uint max(list(uint)) -> uint
1.28 member list_double_max_double max(list(double)) -> double
1.28 member list_bool_max_bool max(list(bool)) -> bool
1.28 member list_duration_max_duration max(list(duration)) -> duration
1.28 member list_timestamp_max_timestamp max(list(timestamp)) -> timestamp
1.28 member list_string_max_string max(list(string)) -> string
1.28 member list_bytes_max_bytes max(list(bytes)) -> bytes
1.28 member list_int_min_int min(list(int)) -> int
1.28 member list_uint_min_uint min(list(uint)) -> uint
1.28 member list_double_min_double min(list(double)) -> double
1.28 member list_bool_min_bool min(list(bool)) -> bool
1.28 member list_duration_min_duration min(list(duration)) -> duration
1.28 member list_timestamp_min_timestamp min(list(timestamp)) -> timestamp
1.28 member list_string_min_string min(list(string)) -> string
1.28 member list_bytes_min_bytes min(list(bytes)) -> bytes
1.28 global optional_none optional.none() -> optional_type(<V>)
1.28 global optional_of optional.of(<V>) -> optional_type(<V>)
1.28 global optional_ofNonZeroValue optional.ofNonZeroValue(<V>) -> optional_type(<V>)
1.28 global optional_unwrap optional.unwrap(list(optional_type(<V>))) -> list(<V>)
1.28 member optional_or_optional or(optional_type(<V>), optional_type(<V>)) -> optional_type(<V>)
1.28 member optional_orValue_value orValue(optional_type(<V>), <V>) -> <V>
1.28 global string_to_quantity quantity(string) -> kubernetes.Quantity
1.28 member string_replace_string_string replace(string, string, string) -> string
1.28 member string_replace_string_string_int replace(string, string, string, int) -> string
1.28 global quantity_sign sign(kubernetes.Quantity) -> int
1.28 global size_bytes size(bytes) -> int
1.28 member bytes_size size(bytes) -> int
1.28 global size_list size(list(<A>)) -> int
1.28 member list_size size(list(<A>)) -> int
1.28 global size_map size(map(<A>, <B>)) -> int
1.28 member map_size size(map(<A>, <B>)) -> int
1.28 global size_string size(string) -> int
1.28 member string_size size(string) -> int
1.28 member string_split_string split(string, string) -> list(string)
1.28 member string_split_string_int split(string, string, int) -> list(string)
1.28 member starts_with_string startsWith(string, string) -> bool
1.28 global string_to_string string(string) -> string
1.28 global bool_to_string string(bool) -> string
1.28 global bytes_to_string string(bytes) -> string
1.28 global double_to_string string(double) -> string
1.28 global duration_to_string string(duration) -> string
1.28 global int64_to_string string(int) -> string
1.28 global timestamp_to_string string(timestamp) -> string
1.28 global uint64_to_string string(uint) -> string
1.28 member quantity_sub sub(kubernetes.Quantity, kubernetes.Quantity) -> kubernetes.Quantity
1.28 member quantity_sub_int sub(kubernetes.Quantity, int) -> kubernetes.Quantity
1.28 member string_substring_int substring(string, int) -> string
1.28 member string_substring_int_int substring(string, int, int) -> string
1.28 member list_int_sum_int sum(list(int)) -> int
1.28 member list_uint_sum_uint sum(list(uint)) -> uint
1.28 member list_double_sum_double sum(list(double)) -> double
1.28 member list_duration_sum_duration sum(list(duration)) -> duration
1.28 global timestamp_to_timestamp timestamp(timestamp) -> timestamp
1.28 global int64_to_timestamp timestamp(int) -> timestamp
1.28 global string_to_timestamp timestamp(string) -> timestamp
1.28 member string_trim trim(string) -> string
1.28 global type type(<A>) -> type(<A>)
1.28 global uint64_to_uint64 uint(uint) -> uint
1.28 global double_to_uint64 uint(double) -> uint
1.28 global int64_to_uint64 uint(int) -> uint
1.28 global string_to_uint64 uint(string) -> uint
1.28 member optional_unwrapOpt unwrapOpt(list(optional_type(<V>))) -> list(<V>)
1.28 member string_upper_ascii upperAscii(string) -> string
1.28 global string_to_url url(string) -> kubernetes.URL
1.28 member optional_value value(optional_type(<V>)) -> <V>
1.28 member decision_allowed allowed(kubernetes.authorization.Decision) -> bool
1.28 member pathcheck_check check(kubernetes.authorization.PathCheck, string) -> kubernetes.authorization.Decision
1.28 member resourcecheck_check check(kubernetes.authorization.ResourceCheck, string) -> kubernetes.authorization.Decision
1.28 member decision_error error(kubernetes.authorization.Decision) -> string
1.28 member decision_errored errored(kubernetes.authorization.Decision) -> bool
1.28 member authorizer_fieldselector fieldSelector(kubernetes.authorization.ResourceCheck, string) -> kubernetes.authorization.ResourceCheck
1.28 member authorizer_group group(kubernetes.authorization.Authorizer, string) -> kubernetes.authorization.GroupCheck
1.28 member authorizer_labelselector labelSelector(kubernetes.authorization.ResourceCheck, string) -> kubernetes.authorization.ResourceCheck
1.28 member resourcecheck_name name(kubernetes.authorization.ResourceCheck, string) -> kubernetes.authorization.ResourceCheck
1.28 member resourcecheck_namespace namespace(kubernetes.authorization.ResourceCheck, string) -> kubernetes.authorization.ResourceCheck
1.28 member authorizer_path path(kubernetes.authorization.Authorizer, string) -> kubernetes.authorization.PathCheck
1.28 member decision_reason reason(kubernetes.authorization.Decision) -> string
1.28 member groupcheck_resource resource(kubernetes.authorization.GroupCheck, string) -> kubernetes.authorization.ResourceCheck
1.28 member authorizer_serviceaccount serviceAccount(kubernetes.authorization.Authorizer, string, string) -> kubernetes.authorization.Authorizer
1.28 member resourcecheck_subresource subresource(kubernetes.authorization.ResourceCheck, string) -> kubernetes.authorization.ResourceCheck
1.29 member string_format format(string, list(dyn)) -> string
1.29 global list_sets_contains_list sets.contains(list(<T>), list(<T>)) -> bool
1.29 global list_sets_equivalent_list sets.equivalent(list(<T>), list(<T>)) -> bool
1.29 global list_sets_intersects_list sets.intersects(list(<T>), list(<T>)) -> bool
1.29 global strings_quote strings.quote(string) -> string
1.30 global string_to_cidr cidr(string) -> net.CIDR
1.30 member cidr_contains_cidr_string containsCIDR(net.CIDR, string) -> bool
1.30 member cidr_contains_cidr containsCIDR(net.CIDR, net.CIDR) -> bool
1.30 member cidr_contains_ip_string containsIP(net.CIDR, string) -> bool
1.30 member cidr_contains_ip_ip containsIP(net.CIDR, net.IP) -> bool
1.30 member ip_family family(net.IP) -> int
1.30 global string_to_ip ip(string) -> net.IP
1.30 member cidr_ip ip(net.CIDR) -> net.IP
1.30 global ip_is_canonical ip.isCanonical(string) -> bool
1.30 global is_cidr isCIDR(string) -> bool
1.30 member ip_is_global_unicast isGlobalUnicast(net.IP) -> bool
1.30 global is_ip isIP(string) -> bool
1.30 member ip_is_link_local_multicast isLinkLocalMulticast(net.IP) -> bool
1.30 member ip_is_link_local_unicast isLinkLocalUnicast(net.IP) -> bool
1.30 member ip_is_loopback isLoopback(net.IP) -> bool
1.30 member ip_is_unspecified isUnspecified(net.IP) -> bool
1.30 member cidr_masked masked(net.CIDR) -> net.CIDR
1.30 member cidr_prefix_length prefixLength(net.CIDR) -> int
1.30 global ip_to_string string(net.IP) -> string
1.30 global cidr_to_string string(net.CIDR) -> string
1.31 global format.byte format.byte() -> kubernetes.NamedFormat
1.31 global format.date format.date() -> kubernetes.NamedFormat
1.31 global format.datetime format.datetime() -> kubernetes.NamedFormat
1.31 global format.dns1035Label format.dns1035Label() -> kubernetes.NamedFormat
1.31 global format.dns1035LabelPrefix format.dns1035LabelPrefix() -> kubernetes.NamedFormat
1.31 global format.dns1123Label format.dns1123Label() -> kubernetes.NamedFormat
1.31 global format.dns1123LabelPrefix format.dns1123LabelPrefix() -> kubernetes.NamedFormat
1.31 global format.dns1123Subdomain format.dns1123Subdomain() -> kubernetes.NamedFormat
1.31 global format.dns1123SubdomainPrefix format.dns1123SubdomainPrefix() -> kubernetes.NamedFormat
1.31 global format.labelValue format.labelValue() -> kubernetes.NamedFormat
1.31 global format-named format.named(string) -> optional_type(kubernetes.NamedFormat)
1.31 global format.qualifiedName format.qualifiedName() -> kubernetes.NamedFormat
1.31 global format.uri format.uri() -> kubernetes.NamedFormat
1.31 global format.uuid format.uuid() -> kubernetes.NamedFormat
1.31 member format-validate validate(kubernetes.NamedFormat, string) -> optional_type(list(string))
1.32 global @mapInsert_map_key_value cel.@mapInsert(map(<K>, <V>), <K>, <V>) -> map(<K>, <V>)
1.32 global @mapInsert_map_map cel.@mapInsert(map(<K>, <V>), map(<K>, <V>)) -> map(<K>, <V>)
1.33 member semver_compare_to compareTo(kubernetes.Semver, kubernetes.Semver) -> int
1.33 member semver_is_greater_than isGreaterThan(kubernetes.Semver, kubernetes.Semver) -> bool
1.33 member semver_is_less_than isLessThan(kubernetes.Semver, kubernetes.Semver) -> bool
1.33 global is_semver_string isSemver(string) -> bool
1.33 global is_semver_string_bool isSemver(string, bool) -> bool
1.33 member semver_major major(kubernetes.Semver) -> int
1.33 member semver_minor minor(kubernetes.Semver) -> int
1.33 member semver_patch patch(kubernetes.Semver) -> int
1.33 global string_to_semver semver(string) -> kubernetes.Semver
1.33 global string_bool_to_semver semver(string, bool) -> kubernetes.Semver
1.34 member list_int_sortByAssociatedKeys @sortByAssociatedKeys(list(<T>), list(int)) -> list(<T>)
1.34 member list_uint_sortByAssociatedKeys @sortByAssociatedKeys(list(<T>), list(uint)) -> list(<T>)
1.34 member list_double_sortByAssociatedKeys @sortByAssociatedKeys(list(<T>), list(double)) -> list(<T>)
1.34 member list_bool_sortByAssociatedKeys @sortByAssociatedKeys(list(<T>), list(bool)) -> list(<T>)
1.34 member list_google.protobuf.Duration_sortByAssociatedKeys @sortByAssociatedKeys(list(<T>), list(duration)) -> list(<T>)
1.34 member list_google.protobuf.Timestamp_sortByAssociatedKeys @sortByAssociatedKeys(list(<T>), list(timestamp)) -> list(<T>)
1.34 member list_string_sortByAssociatedKeys @sortByAssociatedKeys(list(<T>), list(string)) -> list(<T>)
1.34 member list_bytes_sortByAssociatedKeys @sortByAssociatedKeys(list(<T>), list(bytes)) -> list(<T>)
1.34 member list_distinct distinct(list(<T>)) -> list(<T>)
1.34 member list_flatten flatten(list(list(<T>))) -> list(<T>)
1.34 member list_flatten_int flatten(list(dyn), int) -> list(dyn)
1.34 global lists_range lists.range(int) -> list(int)
1.34 member list_reverse reverse(list(<T>)) -> list(<T>)
1.34 member list_slice slice(list(<T>), int, int) -> list(<T>)
1.34 member list_int_sort sort(list(int)) -> list(int)
1.34 member list_uint_sort sort(list(uint)) -> list(uint)
1.34 member list_double_sort sort(list(double)) -> list(double)
1.34 member list_bool_sort sort(list(bool)) -> list(bool)
1.34 member list_google.protobuf.Duration_sort sort(list(duration)) -> list(duration)
1.34 member list_google.protobuf.Timestamp_sort sort(list(timestamp)) -> list(timestamp)
1.34 member list_string_sort sort(list(string)) -> list(string)
1.34 member list_bytes_sort sort(list(bytes)) -> list(bytes)
"""
