# A library in Rust, English and French notes: stacked branches, rebases, squashes, a force push from elsewhere.
mkdir central && cd central && git init --bare; cd ..
mkdir lib && cd lib && git init && git remote add origin "$HOME/central"
at 2026-09-01
mkdir -p src/codec benches examples
put src/lib.rs <<'X'
pub mod codec;

pub const MAGIC: u32 = 0xCAFE;

pub fn encode(input: &[u8]) -> Vec<u8> {
    codec::pack(input)
}

pub fn checksum(input: &[u8]) -> u32 {
    input.iter().map(|byte| *byte as u32).sum()
}
X
body pack > src/codec/mod.rs
body huff > src/codec/huffman.rs
body lz > src/codec/lz.rs
body simd > src/codec/simd.rs
body bench > benches/speed.rs
body example > examples/zip.rs
body cargo > Cargo.toml
body changes > CHANGES.md
save "Library"; git push origin main
at 2026-09-03; git checkout -b lz-window; edit src/codec/lz.rs 's/line 1/line one/'; save "Window"; mark window
at 2026-09-04; git checkout -b lz-lazy; edit src/codec/lz.rs 's/line 2/line two/'; save "Lazy"; mark lazy
at 2026-09-07; git checkout main; edit CHANGES.md 's/line 1/line one/'; save "Changes"
at 2026-09-08; git merge --squash lz-lazy; git commit -m "Window and lazy (#31)"; git branch -D lz-window lz-lazy
at 2026-09-10; git checkout -b simd; edit src/codec/simd.rs 's/line 1/line one/'; save "Simd"; mark simd
at 2026-09-11; git checkout main; edit Cargo.toml 's/line 2/line two/'; save "Cargo"
at 2026-09-14; git checkout simd; git rebase main; git push origin simd
at 2026-09-15; git checkout main
cd ..; at 2026-09-16; git clone "$HOME/central" other; cd other; git checkout simd; edit src/codec/huffman.rs 's/line 3/line three/'; save "Huffman"; git push origin simd; cd ../lib
at 2026-09-18; git fetch origin; git merge --ff-only origin/simd; git branch -D simd
at 2026-09-21; edit src/lib.rs 's/0xCAFE/0xBEEF/'; save "Magic"; mark magic
at 2026-09-22; edit src/lib.rs 's/checksum/sum_of/'; save "sum_of"
at 2026-09-23; git rm benches/speed.rs; save "No benches"
at 2026-09-24; git reset --hard HEAD~1
at 2026-09-28; git mv examples/zip.rs examples/pack.rs; edit CHANGES.md 's/line 4/line four/'; save "Example"
