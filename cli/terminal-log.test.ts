import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { openLog } from '#runtime/log.ts'
import { writeLogLine } from './terminal-log.ts'

/** What a log writes to a stream that is a terminal or a file. */
function linesOn(isTTY: boolean, work: (log: ReturnType<typeof openLog>) => void): string[] {
  const lines: string[] = []
  const write = (text: string) => lines.push(text.trimEnd())
  const stream = Object.assign(new PassThrough(), { isTTY, write }) as unknown as NodeJS.WriteStream
  work(openLog('info', (line) => writeLogLine(line, stream)))
  return lines
}

test('on a terminal, log entries are readable lines without the one about listening', () => {
  const lines = linesOn(true, (log) => {
    log.info({ url: 'http://127.0.0.1:8080' }, 'listening')
    log.info({ chain: '1', block: 1200 }, 'block read')
    log.warn({ reason: 'no "answer"', text: '\u001b[2J' }, 'node failed')
  })
  assert.equal(lines.length, 2)
  assert.match(lines[0] ?? '', /^\d\d:\d\d:\d\d info {2}block read chain=1 block=1200$/)
  assert.match(lines[1] ?? '', /node failed reason="no \\"answer\\"" text="\\u001b\[2J"$/)
})

test('elsewhere, log entries are JSON lines', () => {
  const [line = ''] = linesOn(false, (log) => log.info({ url: 'x' }, 'listening'))
  assert.equal(JSON.parse(line).msg, 'listening')
})

test('on a terminal, the members of an object are values of their own', () => {
  const [line = ''] = linesOn(true, (log) =>
    log.info({ network: 'hoodi', changes: { validators: 2, inGwei: 7 } }, 'stored'),
  )
  assert.match(line, /stored network=hoodi changes\.validators=2 changes\.inGwei=7$/)
})
