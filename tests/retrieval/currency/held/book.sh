# A book in Markdown, English and German notes: chapters that move and split, long prose, uncommitted changes.
mkdir book && cd book && git init
at 2026-08-01
mkdir -p chapters figures notes
for number in 1 2 3 4 5 6; do body "chapter $number" 30 > chapters/0$number.md; done
body intro > chapters/intro.md
body sources > sources.bib
body outline > outline.md
body style > STYLE.md
body fig > figures/map.svg
body todo > notes/todo.txt
body people > notes/people.txt
body latex > book.tex
save "Draft"
at 2026-08-05; edit chapters/01.md 's/line 3/line three/'; save "One"; mark one
at 2026-08-06; git mv chapters/02.md chapters/02-harbour.md; save "Name the second"
at 2026-08-07; git mv chapters/03.md chapters/03-fog.md; edit chapters/03-fog.md 's/line 4 /line four /'; save "Name the third"
at 2026-08-08; cat chapters/04.md chapters/05.md > chapters/04-05.md; git rm chapters/04.md chapters/05.md; save "Join four and five"
at 2026-08-12; edit outline.md 's/line 2/line two/'; save "Outline"
at 2026-08-13; edit outline.md 's/line 5/line five/'; save "Outline again"
at 2026-08-14; edit outline.md 's/line 7/line seven/'; save "Outline, third time"
at 2026-08-20; git checkout -b lektorat; edit chapters/intro.md 's/line 1/line one/'; save "Lektorat"
at 2026-08-24; git checkout main; git merge lektorat; git branch -m lektorat korrektur
at 2026-08-26; git rm -r notes/todo.txt; save "All done"
at 2026-08-30; edit chapters/06.md 's/line 2/line two/'; git stash
at 2026-09-01; edit STYLE.md 's/line 1/line one/'
at 2026-09-02; rm figures/map.svg
at 2026-09-05; body todo > notes/todo.txt
