# A web site in TypeScript: npm scripts, a rebase, a renamed folder, non-ASCII names and spaces.
mkdir site && cd site && git init
at 2026-02-01
put package.json <<'X'
{
  "name": "site",
  "scripts": {
    "build": "vite build",
    "e2e": "playwright test",
    "format": "prettier -w ."
  }
}
X
mkdir -p src/components src/lib pages public docs
body button > src/components/Button.tsx
body modal > src/components/Modal.tsx
body index > src/components/index.ts
body libindex > src/lib/index.ts
put src/lib/format.ts <<'X'
export function formatPrice(cents: number): string {
  return (cents / 100).toFixed(2) + " €";
}

export function formatDay(day: Date): string {
  return day.toISOString().slice(0, 10);
}
X
body fetch > src/lib/fetch.ts
body home > pages/home.tsx
body about > pages/about.tsx
body menu > "docs/Menü und Fußzeile.md"
body guide > "docs/Style Guide.md"
body accueil > docs/accueil-été.md
body robots > public/robots.txt
body vite > vite.config.ts
body vitest > vitest.config.ts
save "Start the site"; mark start
at 2026-02-10; edit src/lib/format.ts 's/toFixed(2)/toFixed(0)/'; save "Round prices"
at 2026-02-14; git checkout -b feat/modal; edit src/components/Modal.tsx 's/line 2/line two/'; save "Open the modal by keyboard"; mark modal
at 2026-02-15; edit src/components/Modal.tsx 's/line 3/line three/'; save "Close it too"
at 2026-02-20; git checkout main; edit pages/home.tsx 's/line 1/line one/'; save "Home"
at 2026-02-25; git checkout feat/modal; git rebase main; git checkout main; git merge --ff-only feat/modal; git branch -d feat/modal
at 2026-03-10; edit package.json '/e2e/d'; git rm src/lib/fetch.ts; save "No end to end tests"
at 2026-03-12; git mv pages views; save "Call pages views"; mark views
at 2026-03-20; edit "docs/Style Guide.md" 's/line 9/line nine/'; git mv "docs/Menü und Fußzeile.md" docs/menu.md; save "Docs"
at 2026-03-25; edit docs/accueil-été.md 's/line 1/ligne une/'; save "Accueil"
at 2026-04-01; edit src/lib/format.ts 's/formatDay/isoDay/'; save "isoDay"
at 2026-04-02; edit src/lib/format.ts 's/isoDay/formatDay/'; save "formatDay again"
at 2026-04-10; edit src/components/index.ts 's/line 2/line two/'; save "Exports"
at 2026-04-20; git mv vitest.config.ts vitest.workspace.ts; save "Workspace of vitest"
