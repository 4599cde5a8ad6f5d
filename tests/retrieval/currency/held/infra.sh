# Machines of a company, Russian and English notes: files named like words, filters, a sparse checkout, a detached commit.
mkdir infra && cd infra && git init
at 2026-07-01
mkdir -p modules/net modules/db envs/prod envs/test bin ansible/roles
body net > modules/net/main.tf
body netvars > modules/net/variables.tf
body db > modules/db/main.tf
body dbvars > modules/db/variables.tf
body prod > envs/prod/main.tf
body prodvars > envs/prod/terraform.tfvars
body test > envs/test/main.tf
body apply > bin/apply
body status > status
body build > build
body role > ansible/roles/nginx.yml
body inv > ansible/hosts.ini
put Makefile <<'X'
plan:
	bin/plan
apply: plan
	bin/apply
drift:
	bin/drift
X
body plan > bin/plan
body oncall > oncall.md
body cert > certs.md
save "Machines"
at 2026-07-03; git clone . ../sparse; cd ../sparse; git sparse-checkout set modules; cd ../infra
at 2026-07-07; edit modules/net/main.tf 's/line 5/line five/'; save "Five subnets"; mark five
at 2026-07-09; edit envs/prod/terraform.tfvars 's/line 1/line one/'; save "Bigger machines"
at 2026-07-10; edit envs/prod/terraform.tfvars 's/line 2/line two/'; save "More machines"
at 2026-07-14; git rm bin/apply; edit Makefile '/^apply/,/apply$/d'; save "Apply in CI only"
at 2026-07-16; git mv ansible/roles/nginx.yml ansible/roles/caddy.yml; save "Caddy"
at 2026-07-17; edit ansible/roles/caddy.yml 's/line/row/'; save "Rows"
at 2026-07-20; edit build 's/line 1/line one/'; edit status 's/line 1/line one/'; save "Words"
at 2026-07-22; edit oncall.md 's/line 1/line one/'; save "On call"; mark oncall
at 2026-07-24; git revert --no-edit HEAD; git revert --no-edit HEAD
at 2026-07-27; edit certs.md 's/line 6/line six/'; save "Certificates"
at 2026-07-28; git checkout HEAD~1; body lost > lost.tf; save "Lost"; mark lost; git checkout main
at 2026-07-29; printf '*.ini filter=secret\n' > .gitattributes; save "Attributes"
at 2026-07-30; edit ansible/hosts.ini 's/line 1/line one/'
