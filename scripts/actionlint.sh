#!/bin/sh
# Installs actionlint for test/workflows.test.ts, which skips its check if actionlint is missing. Needs Go.
set -eu
folder=$(cd "$(dirname "$0")/.." && pwd)/.ci/cache/bin
test -x "$folder/actionlint" || GOBIN="$folder" go install github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
