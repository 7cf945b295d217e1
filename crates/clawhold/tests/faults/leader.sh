#!/bin/bash
# The program of a leader: raises the fence at the sink, then turns each event into one write to the
# sink and one job. What it cannot do it does not do twice: it ends, and the role is free. Asked to end,
# it finishes the event at hand: what follows the stream ends, and what deals with it does not hear.

trap : TERM
while read -r word _; do
    if [ "$word" = promoted ]; then
        . "$CLAWHOLD_LEASE_FILE"
        break
    fi
done

# Sends one line to the sink and ends unless it says `ok`.
sink() {
    exec 3<>"/dev/tcp/127.0.0.1/$FAULTS_SINK" || exit 1
    echo "$token $*" >&3
    read -r answer <&3
    exec 3>&-
    [ "$answer" = ok ] || exit 1
}

sink fence "$position"
"$FAULTS_CLAWHOLD" stream follow events --after "$position" | {
    trap '' TERM
    while read -r number value; do
        sink write "$number" "$value"
        "$FAULTS_CLAWHOLD" commit --token "$token" --position "$number" \
            --job "work={\"event\":$number}" || exit 1
    done
}
