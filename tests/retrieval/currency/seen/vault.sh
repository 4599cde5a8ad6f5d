# A server in Go with worktrees: one that exists, one that is gone, one whose branch was merged by squash.
mkdir vault && cd vault && git init
at 2026-05-01
mkdir -p cmd/vault internal/store internal/seal docs
put go.mod <<'X'
module example.org/vault
go 1.26
X
body main > cmd/vault/main.go
put internal/store/store.go <<'X'
package store

// Limit is the largest secret in bytes.
const Limit = 4096

func (s *Store) Put(key string, value []byte) error {
	if len(value) > Limit {
		return ErrTooLarge
	}
	return s.write(key, value)
}

func (s *Store) Drop(key string) error {
	return s.erase(key)
}
X
body bolt > internal/store/bolt.go
body seal > internal/seal/seal.go
body shamir > internal/seal/shamir.go
body http > internal/http.go
body audit > internal/audit.go
body threat > docs/threat-model.md
body ops > docs/operations.md
put justfile <<'X'
test:
  go test ./...
X
save "Start vault"
at 2026-05-04; git worktree add -b seal-v2 ../vault-seal
at 2026-05-05; cd ../vault-seal; edit internal/seal/seal.go 's/line 1/line one/'; save "Seal v2"; mark seal
cd ../vault
at 2026-05-06; edit internal/audit.go 's/line 1/line one/'; save "Audit to a file"
at 2026-05-08; git worktree add -b quick-fix ../vault-fix
cd ../vault-fix; edit internal/http.go 's/line 9/line nine/'; save "Time out after 9 s"; mark fix; cd ../vault
at 2026-05-09; git merge --squash quick-fix; git commit -m "Time out (#7)"
at 2026-05-10; git worktree remove --force ../vault-fix; git branch -D quick-fix
at 2026-05-20; cd ../vault-seal; edit internal/seal/seal.go 's/line 7/line seven/'; save "Seal seven"
git rm internal/seal/shamir.go; save "No Shamir"
edit internal/seal/seal.go 's/line 8/line eight/'; cd ../vault
at 2026-05-25; edit internal/store/store.go 's/4096/65536/'; save "Larger secrets"
at 2026-05-28; edit internal/store/store.go 's/Drop/Delete/'; save "Delete instead of Drop"
at 2026-06-01; git mv internal/store/bolt.go internal/store/pebble.go; save "Pebble"
at 2026-06-02; git worktree add -b docs-move ../vault-docs; cd ../vault-docs
at 2026-06-03; git mv docs/operations.md docs/runbook.md; save "Runbook"; cd ../vault
at 2026-06-05; git merge --no-ff docs-move
at 2026-06-09; git mv internal/http.go internal/HTTP.go; save "Capitals"
at 2026-06-10; edit docs/threat-model.md 's/line 3/line three/'; save "Threats"
