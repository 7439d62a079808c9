import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ownCommand } from './own-command.ts'

test('hints begin with npx if npm started the command, with npx or with npm start', () => {
  assert.equal(ownCommand({}), 'tetrad')
  assert.equal(ownCommand({ npm_command: 'exec' }), 'npx tetrad')
  assert.equal(ownCommand({ npm_command: 'start' }), 'npx tetrad')
})
