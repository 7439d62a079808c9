// Checks the computation at the end of docs/scaling.md: every result follows from the measurements.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'

const root = join(import.meta.dirname, '..')
const page = await readFile(join(root, 'docs/scaling.md'), 'utf8')
const sizing = page.slice(page.indexOf('## Sizing for mainnet'))

/** In bytes, seconds, or items. */
const units: Readonly<Record<string, number>> = {
  ...{ '': 1, B: 1, kB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12, PB: 1e15 },
  ...{ ms: 1e-3, s: 1, minutes: 60, h: 3600, days: 86_400, years: 365.25 * 86_400 },
  ...{ '/s': 1, rows: 1, million: 1e6, billion: 1e9, cores: 1, machines: 1 },
}
const term = /^([\d ]*\d(?:\.\d+)?)((?: ?(?:[A-Za-z]+|\/s))*)$/

interface Term {
  readonly value: number
  /** The value of one unit of the last digit. */
  readonly digit: number
}

function termOf(text: string): Term {
  const [, digits = '', words = ''] = term.exec(text.trim()) ?? []
  assert.ok(digits, `not a number: ${text}`)
  let scale = 1
  for (const word of words.split(/ |(?=\/s)/).filter(Boolean)) {
    const unit = units[word]
    assert.ok(unit, `unknown unit ${word} in ${text}`)
    scale *= unit
  }
  const plain = digits.replaceAll(' ', '')
  const decimals = plain.split('.')[1]?.length ?? 0
  return { value: Number(plain) * scale, digit: scale / 10 ** decimals }
}

/** Evaluated from left to right. */
function evaluate(text: string): number {
  const [first = '', ...rest] = text.split(/ ([×÷+]) /)
  let sum = termOf(first).value
  for (let at = 0; at < rest.length; at += 2) {
    const { value } = termOf(rest[at + 1] ?? '')
    if (rest[at] === '×') sum *= value
    else if (rest[at] === '÷') sum /= value
    else sum += value
  }
  return sum
}

const sums = [...sizing.matchAll(/`([^`=\n]+ [×÷+] [^`=\n]+) = ([^`\n]+)`/g)].map(([, left = '', right = '']) => ({
  left,
  right,
}))
const measured = [...sizing.matchAll(/^\| [^|]+ \| \*\*([^*|]+)\*\* \| [^|]+ \|$/gm)].map(([, figure = '']) => figure)

describe('sizing', () => {
  test('every computed result is correct', () => {
    assert.ok(sums.length >= 12, String(sums.length))
    for (const { left, right } of sums) {
      const { value, digit } = termOf(right)
      const exact = evaluate(left)
      assert.ok(Math.abs(exact - value) <= digit / 2 + 1e-9, `${left} is ${exact}, not ${right}`)
    }
  })

  test('every computation uses a measurement or another result', () => {
    const known = new Set([...measured, ...sums.map(({ right }) => right)])
    for (const { left, right } of sums)
      assert.ok(
        left.split(/ [×÷+] /).some((value) => known.has(value.trim())),
        `${left} = ${right}`,
      )
  })

  test('every measurement is used and has a source', () => {
    assert.ok(measured.length >= 8, String(measured.length))
    for (const figure of measured)
      assert.ok(
        sums.some(({ left }) => left.includes(figure)),
        figure,
      )
    const named = [...sizing.matchAll(/`bench (\w[\w-]*)`/g)].map(([, name]) => name)
    assert.ok(named.length >= 4)
  })

  test('the evaluation detects wrong results', () => {
    assert.equal(evaluate('400 million × 229 B'), 91.6e9)
    assert.equal(termOf('91.6 GB').value, 91.6e9)
    assert.equal(evaluate('7 200 s ÷ 2 + 1 h'), 7200)
    assert.equal(termOf('30 000 /s').value, 30_000)
    assert.throws(() => termOf('about 3 GB'))
  })
})
