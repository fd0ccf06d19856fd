#!/bin/sh
# Rewrites crds/ from the released modules named in crds_test.go, which the go command brings into its cache.
set -eu
cd "$(dirname "$0")"
go test . -run TestCRDsAreTheReleasedOnes -update
go test . -run 'TestCRDsAreTheReleasedOnes|TestEveryCRDCompiles'
