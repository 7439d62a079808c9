// A test file whose process exits before all its tests have run. Used only by test/groups.test.ts.
import { test } from 'node:test'

test('exits with code 0', () => process.exit(0))
test('never runs', () => {})
