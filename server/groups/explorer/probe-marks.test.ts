import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openDesk } from '#test/desk.ts'
import { dropMarks, findMark, putMark, want } from './probe-marks.ts'

const addressOf = (number: number) => `0x${number.toString(16).padStart(40, '0')}`

test('of the marks that nobody waits for, no more than so many stay, and other chains keep theirs', async () => {
  await using desk = await openDesk()
  const left = async (chain: string) => {
    const found = await Promise.all(Array.from({ length: 10 }, (_, at) => findMark(desk.state, chain, addressOf(at))))
    return found.flatMap((mark) => (mark ? [mark.block] : []))
  }
  await desk.state.write(async (tx) => {
    for (const chain of ['1', '137'])
      for (let at = 0; at < 10; at++)
        await putMark(tx, chain, addressOf(at), { block: 100 - at, stateTells: true, proof: 'looked' })
    // Somebody waits for one of them.
    await want(tx, '1', addressOf(9), 1)
  })
  const drop = (keep: number, rowsMax: number) => desk.state.write((tx) => dropMarks(tx, '1', keep, rowsMax))
  assert.equal(await drop(9, 100), 0)
  assert.equal(await drop(5, 3), 3)
  assert.equal((await left('1')).length, 7)
  assert.equal(await drop(5, 3), 1)
  assert.equal(await drop(5, 3), 0)
  assert.equal((await left('1')).length, 6)
  assert.equal((await findMark(desk.state, '1', addressOf(9)))?.block, 91)
  assert.equal((await left('137')).length, 10)
})
