# Reads PTX and prints a line for each kernel: its name, how often each way of access to global
# memory occurs in it, shuffles, and instructions on f64.
/^\.visible \.entry/ {
  name = $3
  sub(/\(.*/, "", name)
  gsub(/\$/, ".", name)
}
match($0, /(ld|st)\.global[.a-z0-9]*/) { count[substr($0, RSTART, RLENGTH)]++ }
/shfl\.sync/ { count["shfl"]++ }
/\.f64/ { count["f64"]++ }
/^}/ {
  line = name ":"
  words = split("ld.global.v4.b32 ld.global.v2.b32 ld.global.b64 ld.global.b32 ld.global.b16 " \
    "st.global.v4.b32 st.global.v2.b32 st.global.b64 st.global.b32 st.global.b16 shfl f64", kind, " ")
  for (i = 1; i <= words; i++) {
    if (kind[i] in count)
      line = line " " kind[i] " " count[kind[i]]
    delete count[kind[i]]
  }
  for (other in count) {
    line = line " " other " " count[other]
    delete count[other]
  }
  print line
}
