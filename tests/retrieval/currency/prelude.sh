# Commands of the scripts that build repositories: `at` sets the day, `put` writes a file, `save` commits everything.
# Files get the time of the day on which they were written, as on a real disk.
set -euo pipefail
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=Eva GIT_AUTHOR_EMAIL=eva@example.org
export GIT_COMMITTER_NAME=Eva GIT_COMMITTER_EMAIL=eva@example.org GIT_ALLOW_PROTOCOL=file GIT_MERGE_AUTOEDIT=no
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
STARTED=$(date +%s)
age() { find "$HOME" -name .git -prune -o -type f -newermt "@$((STARTED - 5))" -exec touch -d "${GIT_AUTHOR_DATE:-now}" {} +; }
at() { export GIT_AUTHOR_DATE="$1T${2:-10:00}:00Z" GIT_COMMITTER_DATE="$1T${2:-10:00}:00Z"; }
git() { command git -c init.defaultBranch=main -c advice.detachedHead=false -c protocol.file.allow=always "$@" >/dev/null 2>&1 || { echo "git $* failed" >&2; return 1; }; age; }
put() { mkdir -p "$(dirname "$1")"; cat > "$1"; age; }
edit() { sed -i "$2" "$1"; age; }
body() { for number in $(seq "${2:-12}"); do echo "$1 line $number of the file"; done; }
save() { git add -A; git commit -m "$1"; }
sha() { command git rev-parse "${1:-HEAD}"; }
mark() { echo "$1=$(sha "${2:-HEAD}")" >> "$HOME/marks"; }
