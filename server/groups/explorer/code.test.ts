import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { delegateOf, isInert } from './code.ts'

test('code is inert if nothing in it that can run gives value away without raising the nonce', () => {
  const cases: [string, boolean, string][] = [
    ['0x', true, 'no code'],
    ['0x00', true, 'STOP'],
    ['0x5f5f5f5f5f335af1', false, 'CALL'],
    ['0x5f5f5f5f5f335af2', false, 'CALLCODE'],
    ['0x5f5f5f5f335af4', false, 'DELEGATECALL, as in every proxy'],
    ['0x5f5f5f5f335afa', true, 'STATICCALL'],
    ['0x33ff', false, 'SELFDESTRUCT'],
    ['0x5f5f34f0', true, 'CREATE raises the nonce'],
    ['0x5f5f5f34f5', true, 'CREATE2 raises the nonce'],
    ['0x0c', true, 'without meaning, below the calls'],
    ['0xf8', false, 'without meaning today, among the calls'],
    ['0xef0100', false, 'not EVM code at all'],
    ['0x60f1', true, 'f1 is what PUSH1 pushes'],
    ['0x61f1f1', true, 'PUSH2'],
    [`0x7f${'f1'.repeat(32)}`, true, 'PUSH32'],
    [`0x7f${'f1'.repeat(33)}`, false, 'PUSH32, and one more byte that runs'],
    ['0x61f1', true, 'PUSH2 cut off by the end'],
    ['0x5ff1', false, 'PUSH0 pushes no byte'],
    ['0x00f1', true, 'nothing leads to what follows STOP'],
    ['0x005bf1', false, 'a jump may lead to what follows JUMPDEST'],
    ['0x00605bf1', true, 'no jump may land in what PUSH1 pushes'],
    ['0x5f5ffdf1', true, 'after REVERT'],
    ['0x5f5ff3ff', true, 'after RETURN'],
    ['0xfef1', true, 'after INVALID'],
    ['0x600056f1', true, 'after JUMP'],
    ['0x5f600057f1', false, 'after JUMPI, which may not jump'],
  ]
  for (const [code, inert, words] of cases) assert.equal(isInert(code), inert, `${words}: ${code}`)
})

/** A machine that runs only control flow, choosing both ways at every JUMPI, and notes each instruction it comes to. */
function reached(code: Uint8Array, stepsMax: number): Set<number> {
  const starts = new Set<number>()
  for (let at = 0; at < code.length; at++) {
    starts.add(at)
    const op = code[at] as number
    if (op >= 0x60 && op <= 0x7f) at += op - 0x5f
  }
  const targets = [...starts].filter((at) => code[at] === 0x5b)
  const met = new Set<number>()
  const open = [0]
  for (let steps = 0; open.length > 0 && steps < stepsMax; steps++) {
    const at = open.pop() as number
    if (at >= code.length || met.has(at)) continue
    met.add(at)
    const op = code[at] as number
    // Where a jump leads is not known: to any target.
    if (op === 0x56 || op === 0x57) open.push(...targets)
    if (![0x00, 0x56, 0xf3, 0xfd, 0xfe, 0xff].includes(op))
      open.push(at + 1 + (op >= 0x60 && op <= 0x7f ? op - 0x5f : 0))
  }
  return met
}

test('no machine that follows jumps comes to a call in code that is called inert', () => {
  const byte = fc.oneof(
    fc.constantFrom(0x00, 0x56, 0x57, 0x5b, 0x5b, 0x60, 0x61, 0xf1, 0xf4, 0xff, 0xf3, 0xfd, 0xfe),
    fc.integer({ min: 0, max: 255 }),
  )
  let inert = 0
  fc.assert(
    fc.property(fc.array(byte, { maxLength: 40 }), (bytes) => {
      const code = Uint8Array.from(bytes)
      if (!isInert(`0x${Buffer.from(code).toString('hex')}`)) return
      inert += 1
      for (const at of reached(code, 10_000)) assert.ok(![0xf1, 0xf2, 0xf4, 0xff].includes(code[at] as number))
    }),
    { numRuns: 5000 },
  )
  assert.ok(inert > 100, `${inert} inert`)
})

test('a delegation names its target, and nothing else does', () => {
  const target = 'Ab'.repeat(20)
  assert.equal(delegateOf(`0xef0100${target}`), `0x${target.toLowerCase()}`)
  for (const code of ['0x', '0xef0100', `0xef0100${target}00`, `0xef0101${target}`])
    assert.equal(delegateOf(code), undefined)
})
