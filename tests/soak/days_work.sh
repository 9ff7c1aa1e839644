# What a day's work leaves in a terminal: run once, its output recorded, and shown above prompts (legitimate.py).
# Real programs, whose output speaks of deleting, removing and forcing, as it does on any day.
export GIT_CONFIG_NOSYSTEM=1 HOME=$PWD
git config --global user.name dev
git config --global user.email dev@example.org
git config --global init.defaultBranch main
set -x
git init -q --bare remote.git
git init -q app && cd app
for name in store drop_tables remove_users wipe_cache; do
    printf 'def %s():\n    return "deleted"\n' $name >$name.py
    git add . && git commit -qm "Remove what $name left behind, permanently"
done
git remote add origin ../remote.git
git push -u origin main
git checkout -b old && git push origin old && git push origin --delete old
git commit -q --amend -m "Reset it all" && git push --force origin old:main
git checkout main && git branch -D old
git rm -q wipe_cache.py && git commit -m "Delete the cache for good" && git show --stat
git log --stat | cat
mkdir -p ../tool && printf '{"name": "tool", "version": "1.0.0"}' >../tool/package.json
printf '{"name": "app", "version": "1.0.0"}' >package.json
command -v npm && npm install --offline --no-audit ../tool && npm uninstall --offline --no-audit tool
cat >test_deletes.py <<'TESTS'
import pytest


@pytest.mark.parametrize("what", [f"row_{number}" for number in range(150)])
@pytest.mark.parametrize("how", ["deletes_everything", "overwrites_production"])
def test_deletes(what: str, how: str) -> None:
    assert what and how


def test_erases_the_disk_and_cannot_be_undone() -> None:
    pytest.skip("it would destroy all data")
TESTS
"$PY" -m pytest -v -p no:cacheprovider -p no:randomly test_deletes.py
ls -l /usr/bin | head -100
