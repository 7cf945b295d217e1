#!/bin/bash
# The program of a job: writes to the tally when it starts and when it ends.

echo "start $CLAWHOLD_JOB $CLAWHOLD_CLAIM $$" >>"$FAULTS_TALLY"
if ((CLAWHOLD_JOB % 5 == 0)); then sleep 0.2; fi
echo "end $CLAWHOLD_JOB $CLAWHOLD_CLAIM $$" >>"$FAULTS_TALLY"
