#!/usr/bin/env bash
# A batch through a real Slurm: one node, this machine, two tasks at a time. ./tests/run slurm
#
# Installs Debian's slurm-wlm where root and apt are, starts munged, slurmctld and slurmd of its own, runs the checks with the
# binary in $OUTRIGGER_BIN, and ends what it started. Exit code 3: it cannot be had here.
set -euo pipefail

readonly SKIPPED=3
readonly BIN=${OUTRIGGER_BIN:?the binary to test}
skip() {
    echo "slurm: $1"
    exit "$SKIPPED"
}
[ "$(id -u)" = 0 ] || skip "needs root, to start a Slurm of its own"
if ! command -v slurmctld slurmd sbatch srun munged >/dev/null; then
    command -v apt-get >/dev/null || skip "there is neither a Slurm nor an apt to install one"
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends slurm-wlm munge; } >/dev/null 2>&1 ||
        skip "slurm-wlm cannot be installed here"
fi

work=$(mktemp -d)
started=()
finish() {
    local code=$?
    for pid in "${started[@]:-}"; do
        [ -z "$pid" ] || kill "$pid" 2>/dev/null || true
    done
    if [ "$code" != 0 ] && [ "$code" != "$SKIPPED" ]; then
        tail -n 20 "$work"/*.log 2>/dev/null || true
    fi
    wait 2>/dev/null || true
    rm -rf "$work"
    exit "$code"
}
trap finish EXIT

chmod 755 "$work"
mkdir -p "$work/spool" "$work/ctl" "$work/munge"
chmod 700 "$work/munge"
chown root "$work/munge"
head -c 1024 /dev/urandom >"$work/munge/key"
chmod 400 "$work/munge/key"
munged --force --foreground --key-file="$work/munge/key" --socket="$work/munge.sock" --pid-file="$work/munge/pid" \
    --log-file="$work/munge/log" --seed-file="$work/munge/seed" >"$work/munged.log" 2>&1 &
started+=($!)

host=$(hostname -s)
base=$((20000 + RANDOM % 20000))
cat >"$work/slurm.conf" <<CONF
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$base
SlurmdPort=$((base + 1))
AuthType=auth/munge
AuthInfo=socket=$work/munge.sock
CryptoType=crypto/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation=$work/ctl
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
SlurmctldLogFile=$work/slurmctld.log
SlurmdLogFile=$work/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SchedulerType=sched/backfill
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MpiDefault=none
ReturnToService=2
JobRequeue=1
KillWait=5
MinJobAge=300
NodeName=$host NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=all Nodes=$host Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO
CONF
export SLURM_CONF=$work/slurm.conf
slurmctld -D -c >"$work/ctl.log" 2>&1 &
started+=($!)
slurmd -D -N "$host" >"$work/slurmd-out.log" 2>&1 &
started+=($!)
for _ in $(seq 1 120); do
    state=$(sinfo --noheader --format=%T 2>/dev/null || true)
    [ "$state" != idle ] || break
    sleep 0.5
done
[ "$state" = idle ] || { echo "slurm: the node is '$state', not idle"; exit 1; }
echo "slurm: $(srun --version) is up"

export OUTRIGGER_CONFIG= OUTRIGGER_STATE_DIR=$work/state
unset OUTRIGGER_MODEL
project=$work/project
mkdir "$project"
cd "$project"
git init --quiet --initial-branch=main
echo one >a.txt
git add .
git -c user.name=t -c user.email=t@example commit --quiet -m first

say() { printf '%s\n' "$1"; }
# Waits in a command until the other one runs as well, so that the two prove to be worked on at the same time.
script() {
    local name=$1 command=$2
    {
        say '{"script":1,"name":"slurm"}'
        say "{\"emit\":[{\"tool\":\"command\",\"id\":\"c1\",\"args\":{\"command\":\"$command\"}}]}"
        say "{\"emit\":[{\"tool\":\"write\",\"id\":\"w1\",\"args\":{\"path\":\"$name.txt\",\"content\":\"$name\\n\"}}]}"
        say '{"emit":[{"text":"done"}]}'
    } >"$work/$name.jsonl"
}
meet() { say "touch $work/$1.here; until [ -e $work/$2.here ]; do sleep 0.1; done"; }
script one "$(meet one two)"
script two "$(meet two one)"
script three true
cat >"$work/list.json" <<LIST
[{"title":"one","settings":{"model":"scripted:$work/one.jsonl"}},
 {"title":"two","settings":{"model":"scripted:$work/two.jsonl"}},
 {"title":"three","settings":{"model":"scripted:$work/three.jsonl"},"dependsOn":["one"]}]
LIST
code=0
timeout 120 "$BIN" batch "$work/list.json" --parallel 2 --yes --launcher 'srun --quiet --ntasks=1 --cpus-per-task=1' || code=$?
[ "$code" = 5 ] || { echo "slurm: the batch ended with $code"; exit 1; }
for task in 1-one:one.txt 2-two:two.txt 3-three:three.txt; do
    git show "outrigger/b1/$task" >/dev/null
done
echo "slurm: three tasks by srun, two at a time"

# A job that is killed is queued again by Slurm itself; the same script then takes the run up.
tree=$work/tree
git worktree add --quiet "$tree" -b requeued
script four "echo once >> $work/marks; touch $work/four.here; if [ -e $work/again ]; then exit 0; fi; exec sleep 600"
say "Do the fourth" >"$work/four.md"
cat >"$work/job.sh" <<JOB
#!/bin/sh
#SBATCH --requeue --open-mode=append --ntasks=1 --output=$work/four.out
exec "$BIN" run --once --json --yes --model scripted:$work/four.jsonl --file $work/four.md --root $tree
JOB
job=$(sbatch --parsable "$work/job.sh")
wait_for() {
    for _ in $(seq 1 240); do
        ! eval "$1" || return 0
        sleep 0.25
    done
    echo "slurm: in vain waited for: $1"
    scontrol show job "$job" || true
    cat "$work/four.out" || true
    exit 1
}
wait_for "[ -e $work/four.here ]"
touch "$work/again"
first=$(sed -n 's/^{"runId":"\([^"]*\)".*/\1/p' "$work/four.out" | head -n 1)
scontrol requeue "$job"
# Slurm lets a requeued job rest for two minutes.
wait_for "[ \"\$(squeue --noheader --jobs=$job --format=%T)\" = PENDING ]"
scontrol update jobid="$job" StartTime=now
wait_for "! squeue --noheader --jobs=$job --states=all --format=%T | grep -Eq 'PENDING|RUNNING|COMPLETING|CONFIGURING'"
echo "slurm: job $job: $(scontrol show job "$job" | grep -Eo 'JobState=[A-Z]+|Restarts=[0-9]+|ExitCode=[0-9:]+' | tr '\n' ' ')"
scontrol show job "$job" | grep -q 'Restarts=1'
runs=$(sed -n 's/^{"runId":"\([^"]*\)".*/\1/p' "$work/four.out" | sort -u)
[ "$runs" = "$first" ] || { echo "slurm: another run was started: $runs"; exit 1; }
# What was under way when it was killed is uncertain: it is asked about, and goes on with the answer.
if ! [ -e "$tree/four.txt" ]; then
    "$BIN" answer --unattended --root "$tree" last 1 || [ $? = 5 ]
fi
[ "$(cat "$tree/four.txt")" = four ]
echo "slurm: a killed job was requeued and its run $first taken up"
