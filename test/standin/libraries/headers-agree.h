//===- headers-agree.h - whether ours equals NVIDIA's, when it is compiled ----------===//
#ifndef TPLAN_TEST_STANDIN_HEADERS_AGREE_H
#define TPLAN_TEST_STANDIN_HEADERS_AGREE_H

#include <type_traits>

namespace standin {

/// Whether a value of the one passes where the other is expected.
template <typename Ours, typename Theirs> constexpr bool passes() {
  using A = std::decay_t<Ours>;
  using B = std::decay_t<Theirs>;
  auto isNumber = []<typename T>(T *) { return std::is_integral_v<T> || std::is_enum_v<T>; };
  if constexpr (std::is_void_v<A> || std::is_void_v<B>)
    return std::is_void_v<A> && std::is_void_v<B>;
  else
    return sizeof(A) == sizeof(B) && std::is_pointer_v<A> == std::is_pointer_v<B> &&
           isNumber((A *)nullptr) == isNumber((B *)nullptr);
}

template <typename Ours, typename Theirs> struct Agree : std::false_type {};
template <typename R, typename... A, typename S, typename... B> struct Agree<R(A...), S(B...)> {
  static constexpr bool value = [] {
    if constexpr (sizeof...(A) == sizeof...(B))
      return passes<R, S>() && (passes<A, B>() && ...);
    return false;
  }();
};

} // namespace standin

#define COMPARE(RESULT, NAME, ARGUMENTS)                                                           \
  static_assert(Agree<RESULT ARGUMENTS, decltype(::NAME)>::value, #NAME);
#define SAME(OURS, THEIRS) static_assert((long long)(OURS) == (long long)(THEIRS), #THEIRS);

#endif // TPLAN_TEST_STANDIN_HEADERS_AGREE_H
