# A clone of a repository in Ruby: pulls of others' work, a shallow clone beside it, a reset, a stash.
mkdir origin && cd origin && git init
at 2026-02-02
mkdir -p app/models app/jobs config lib/tasks spec
put app/models/truck.rb <<'X'
class Truck < Record
  MAX_LOAD = 18_000

  def overloaded?
    load_kg > MAX_LOAD
  end

  def self.free
    where(trip: nil)
  end
end
X
body driver > app/models/driver.rb
body trip > app/models/trip.rb
body sync > app/jobs/sync_job.rb
body mail > app/jobs/mail_job.rb
body routes > config/routes.rb
body puma > config/puma.rb
body rake > lib/tasks/fleet.rake
body spec > spec/truck_spec.rb
body gems > Gemfile
body read > README.md
body deploy > DEPLOY.md
save "Fleet"
cd .. && at 2026-02-05 && git clone "$HOME/origin" fleet && cd fleet
cd ../origin
at 2026-02-12; edit app/models/truck.rb 's/18_000/22_000/'; save "Heavier trucks"; mark heavier
at 2026-02-13; edit config/routes.rb 's/line 2/line two/'; save "Routes"
cd ../fleet; at 2026-02-16; git pull
at 2026-02-20; edit app/jobs/sync_job.rb 's/line 3/line three/'; git stash
at 2026-02-22; edit config/puma.rb 's/line 5/line five/'; save "Five workers"; mark five
at 2026-02-23; git reset --hard HEAD~1
cd ../origin
at 2026-03-01; git mv app/jobs/mail_job.rb app/jobs/mailer_job.rb; save "Mailer"
at 2026-03-02; git rm DEPLOY.md; save "Deployment is in the wiki"
at 2026-03-03; edit spec/truck_spec.rb 's/line 1/line one/'; edit app/models/truck.rb 's/overloaded/too_heavy/'; save "too_heavy"
at 2026-03-08; edit Gemfile 's/line 4/line four/'; save "Gem four"
at 2026-03-09; edit Gemfile 's/line 5/line five/'; save "Gem five"
cd ../fleet; at 2026-03-15; git pull
cd ..; at 2026-03-16; git clone --depth 1 "file://$HOME/origin" shallow
cd origin; at 2026-03-20; edit config/routes.rb 's/line 9/line nine/'; save "Route nine"; git rm lib/tasks/fleet.rake; save "No tasks"
cd ../shallow; at 2026-03-25; git pull --depth 3
