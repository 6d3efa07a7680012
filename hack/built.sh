# Sourced, with $root set. is_built FOLDERS...: whether dist/ holds these folders as the sources have them now.
is_built() {
  mark=$root/dist/.built
  [ -f "$mark" ] || return 1
  newer=$(cd "$root" && find "$@" package-lock.json tsconfig.json -newer "$mark" -print -quit)
  [ -z "$newer" ]
}
