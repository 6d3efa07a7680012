# Sourced, with $root set. is_built: whether dist/ holds our programs as the sources have them now.
is_built() {
  mark=$root/dist/.built
  [ -f "$mark" ] || return 1
  newer=$(cd "$root" && find api controllers crds pkg up package-lock.json tsconfig.json -newer "$mark" -print -quit)
  [ -z "$newer" ]
}
