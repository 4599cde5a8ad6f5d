# A game in C#, Japanese and English notes: names with spaces and in Japanese, changes of case, an amended commit.
mkdir game && cd game && git init
at 2026-06-01
mkdir -p Assets/Scripts "Assets/Level Data" docs Tools
put Assets/Scripts/Player.cs <<'X'
public class Player
{
    const float Speed = 4.5f;
    const int Lives = 3;

    public void Jump()
    {
        Body.Push(Up * 12);
    }

    public void Dash()
    {
        Body.Push(Forward * 30);
    }
}
X
body enemy > Assets/Scripts/Enemy.cs
body boss > Assets/Scripts/Boss.cs
body camera > Assets/Scripts/camera.cs
body save > Assets/Scripts/SaveGame.cs
body hud > Assets/Scripts/Hud.cs
body level1 > "Assets/Level Data/level 1.json"
body level2 > "Assets/Level Data/level 2.json"
body sekkei > docs/設計.md
body ongaku > docs/音楽メモ.md
body story > docs/story.md
body pack > Tools/pack.sh
put package.json <<'X'
{"scripts": {
  "lint": "dotnet format",
  "pack": "Tools/pack.sh"
}}
X
save "Start"
at 2026-06-05; edit Assets/Scripts/Player.cs 's/Speed = 4.5f/Speed = 6f/'; save "Faster"; mark faster
at 2026-06-06 14; git commit --amend -m "Faster player"; mark amended
at 2026-06-10; git mv Assets/Scripts/camera.cs Assets/Scripts/Camera.cs; save "Camera"
at 2026-06-12; edit "Assets/Level Data/level 2.json" 's/line 2/line two/'; save "Level 2"
at 2026-06-13; git rm "Assets/Level Data/level 1.json"; save "Tutorial instead of level 1"
at 2026-06-15; edit docs/設計.md 's/line 1/行1/'; save "設計"
at 2026-06-18; git mv docs/音楽メモ.md docs/音楽.md; save "音楽"
at 2026-06-20; edit Assets/Scripts/Player.cs 's/Dash/Roll/'; save "Roll"
at 2026-06-22; edit Assets/Scripts/Enemy.cs 's/line 1/line one/'; save "Enemy"
at 2026-06-24; edit Assets/Scripts/Enemy.cs 's/line one/line 1/'; save "Enemy as before"
at 2026-06-26; edit package.json '/lint/d'; save "No lint"
at 2026-06-29; git checkout -b boss-rush; edit Assets/Scripts/Boss.cs 's/line 9/line nine/'; save "Boss"
at 2026-06-30; git checkout main
at 2026-07-01; rm Assets/Scripts/Hud.cs
