import assert from 'node:assert/strict'
import { test } from 'node:test'
import { showEpochs } from './show-epochs.ts'

function shownOn(isTTY: boolean): string {
  let shown = ''
  const write = (text: string | Uint8Array) => {
    shown += text
    return true
  }
  for (const read of [1, 69, 138, 139]) showEpochs(read, 139, { isTTY, write })
  return shown
}

test('on a terminal, the progress is one line that is removed at the end', () => {
  const lines = [0, 49, 99].map((percent) => `Preparing demo data: ${percent} %`)
  assert.equal(shownOn(true), [...lines, ''].map((line) => `\r\u001b[2K${line}`).join(''))
})

test('elsewhere, no progress is shown', () => {
  assert.equal(shownOn(false), '')
})
