# A shop in Python: edits, a rename, a deletion, a revert, uncommitted work, a merged branch.
mkdir shop && cd shop && git init
at 2026-03-02
put src/queue.py <<'X'
"""Order mails."""

RETRIES = 3
PAUSE_S = 20


def send_later(mail):
    for attempt in range(RETRIES):
        if deliver(mail):
            return attempt
    return give_up(mail)


def give_up(mail):
    raise QueueError(mail)
X
body price > src/pricing.py
body invoice > src/invoices.py
body cart > src/cart.py
body tax > src/tax.py
body legacy > src/legacy_import.py
body coupons > src/coupons.py
body stock > src/stock.py
mkdir tests; body conftest > tests/conftest.py
body carttests > tests/test_cart.py
put Makefile <<'X'
.PHONY: lint test
lint:
	ruff check src
test:
	pytest -q
seed:
	python scripts/seed.py
X
mkdir scripts; body seed > scripts/seed.py; body deploy > scripts/deploy; body backup > scripts/backup.sh
put README.md <<'X'
# Shop
Run make test.
X
put pyproject.toml <<'X'
[project]
name = "shop"
version = "1.0"
X
put .env.example <<'X'
SHOP_KEY=
X
mkdir docs; body runbook > docs/runbook.md; body adr > docs/adr-001.md
save "Add the shop"
mark first
at 2026-03-05; edit src/queue.py 's/RETRIES = 3/RETRIES = 5/'; save "Retry five times"; mark retry5
at 2026-03-20; edit src/queue.py 's/PAUSE_S = 20/PAUSE_S = 45/'; save "Pause longer"
at 2026-04-10; edit src/queue.py 's/give_up/surrender/g'; save "Rename give_up"; mark surrender
at 2026-04-12; git mv src/pricing.py src/prices.py; save "Rename pricing"; mark prices
at 2026-04-15; git rm src/legacy_import.py; save "Drop the old import"; mark dropped
at 2026-04-20; edit src/cart.py 's/line 3/line three/'; save "Spell out"; mark spell
at 2026-04-22; git revert --no-edit HEAD; mark unspell
at 2026-05-02; git checkout -b feature/coupons; edit src/coupons.py 's/line 5/line FIVE/'; save "Coupons in capitals"
at 2026-05-03; git checkout main; git merge --no-ff feature/coupons; git branch -d feature/coupons
at 2026-05-10; edit Makefile '/^seed:/,$d'; edit tests/conftest.py 's/line 2/line two/'; save "Seed by hand"
at 2026-05-20; edit docs/runbook.md 's/line 1/line one/'; save "Runbook"
at 2026-05-25; edit docs/runbook.md 's/line 2/line two/'; save "Runbook again"
at 2026-06-01; git checkout -b spike/redis; body redis > src/redis.py; save "Try redis"; git checkout main; git branch -D spike/redis
at 2026-06-10; edit src/stock.py 's/line 4/line IV/'
at 2026-06-12; rm docs/adr-001.md
at 2026-06-14; body draft > src/draft.py
