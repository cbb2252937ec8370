#!/bin/sh
# Installs grpcurl for test/interop/grpcurl.test.ts, which is skipped if grpcurl is missing. Needs Go.
set -eu
folder=$(cd "$(dirname "$0")/.." && pwd)/.ci/cache/bin
test -x "$folder/grpcurl" || GOBIN="$folder" go install github.com/fullstorydev/grpcurl/cmd/grpcurl@v1.9.3
