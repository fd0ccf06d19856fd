#!/bin/sh
# Rewrites crds/ from the released modules named in crds_test.go, which the go command brings into its cache.
set -eu
cd "$(dirname "$0")"
go test . -count 1 -run CRDsAreTheReleasedOnes -update
go test . -count 1 -run TestCRDsAreAsRecorded -update # in a second run, for the first one embedded the old files
go test . -count 1 -run CRD
