import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { parseJson, stringifyJson } from './json.ts'

/** Numbers that JSON.stringify writes with sixteen or more digits are parsed as bigint. */
const writtenAsLongInteger = (n: number) => Number.isInteger(n) && !Number.isSafeInteger(n) && Math.abs(n) < 1e21

/** Any JSON value, including integers of any size and strings that look like numbers or escapes. */
const json = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    fc.constantFrom(null, true, false, 0, -1, 1.5, 1e300, 5e-324),
    fc.maxSafeInteger(),
    fc.double({ noNaN: true, noDefaultInfinity: true }).filter((n) => !writtenAsLongInteger(n) && !Object.is(n, -0)),
    fc.bigInt({ min: 2n ** 53n, max: 2n ** 300n }),
    fc.bigInt({ min: -(2n ** 300n), max: -(2n ** 53n) }),
    tie('text'),
    fc.array(tie('value'), { maxLength: 5 }),
    fc.dictionary(tie('text') as fc.Arbitrary<string>, tie('value'), { maxKeys: 5, noNullPrototype: true }),
  ),
  text: fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc.string({ unit: 'binary' }),
    fc.bigInt({ min: 0n, max: 2n ** 100n }).map(String),
    fc.constantFrom('__proto__', '12345678901234567890', '",12345678901234567890,"', '\\', '\\"', '{[', '\u2028', ''),
  ),
})).value

describe('parseJson', () => {
  for (const [text, value] of [
    ['9007199254740991', 9007199254740991],
    ['9007199254740992', 9007199254740992n],
    ['9007199254740993', 9007199254740993n],
    ['-9007199254740991', -9007199254740991],
    ['-9007199254740992', -9007199254740992n],
    ['1000000000000000000000', 1000000000000000000000n],
    ['1e21', 1e21],
    ['12345678901234567890.0', 12345678901234567000],
    ['12345678901234567890e2', 1.2345678901234568e21],
    ['0.12345678901234567890', 0.12345678901234568],
    ['-0', -0],
    [' [ 12345678901234567890 , -0 ] ', [12345678901234567890n, -0]],
    ['"12345678901234567890"', '12345678901234567890'],
    ['[12345678901234567890,true,null,"\\u0041\\n"]', [12345678901234567890n, true, null, 'A\n']],
  ] as [string, unknown][]) {
    test(`${text.trim()} is parsed exactly`, () => assert.deepStrictEqual(parseJson(text), value))
  }

  test('names and strings that look like long integers stay strings', () => {
    assert.deepStrictEqual(parseJson('{"12345678901234567890":["a\\",12345678901234567890,",12345678901234567890]}'), {
      '12345678901234567890': ['a",12345678901234567890,', 12345678901234567890n],
    })
  })

  test('a string of any length, with any number of escapes, can stand beside a long integer', () => {
    for (const [part, decoded] of [
      ['x', 'x'],
      ['\\n', '\n'],
      ['\\"', '"'],
    ] as const) {
      const [text, integer] = parseJson(`["${part.repeat(6_000_000)}",12345678901234567890]`) as [string, bigint]
      assert.ok(text === decoded.repeat(6_000_000) && integer === 12345678901234567890n, part)
    }
  })

  test('the last of repeated names wins, and __proto__ is an ordinary member', () => {
    const read = parseJson('{"a":1,"a":12345678901234567890,"__proto__":{"b":1}}') as Record<string, unknown>
    assert.deepStrictEqual(Object.entries(read), [
      ['a', 12345678901234567890n],
      ['__proto__', { b: 1 }],
    ])
    assert.equal(Object.getPrototypeOf(read), Object.prototype)
  })

  test('invalid JSON fails as in JSON.parse', () => {
    for (const text of ['', '{', '[12345678901234567890', '01234567890123456789', '"12345678901234567890', '[1,]']) {
      assert.throws(() => parseJson(text), SyntaxError, text)
    }
  })

  test('nesting depth is not limited', () => {
    const depth = 50_000
    let read = parseJson(`${'['.repeat(depth)}12345678901234567890${']'.repeat(depth)}`)
    for (let level = 0; level < depth; level++) read = (read as unknown[])[0]
    assert.equal(read, 12345678901234567890n)
  })

  test('long texts are parsed in linear time: megabytes of escaped quotes next to a long integer', () => {
    const inner = '\\"'.repeat(1_000_000)
    assert.deepStrictEqual(parseJson(`["${inner}",12345678901234567890]`), [
      '"'.repeat(1_000_000),
      12345678901234567890n,
    ])
  })

  test('equals JSON.parse without long integers', () => {
    const plain = fc.json().filter((text) => !/\d{16}/.test(text))
    fc.assert(fc.property(plain, (text) => assert.deepStrictEqual(parseJson(text), JSON.parse(text))))
  })

  test('values next to a long integer are parsed as by JSON.parse', () => {
    const plain = fc.json().filter((text) => !/\d{16}/.test(text))
    fc.assert(
      fc.property(plain, (text) => {
        assert.deepStrictEqual(parseJson(`[${text},12345678901234567890]`), [JSON.parse(text), 12345678901234567890n])
      }),
      { numRuns: 1000 },
    )
  })
})

describe('stringifyJson', () => {
  test('parseJson returns what stringifyJson wrote, with any spacing', () => {
    fc.assert(
      fc.property(json, fc.integer({ min: 0, max: 12 }), (value, space) => {
        assert.deepStrictEqual(parseJson(stringifyJson(value, space)), value)
      }),
      { numRuns: 2000 },
    )
  })

  test('equals JSON.stringify if bigints are replaced by numbers, with any spacing', () => {
    const numbers = (value: unknown): unknown =>
      typeof value === 'bigint'
        ? 7
        : Array.isArray(value)
          ? value.map(numbers)
          : typeof value === 'object' && value !== null
            ? Object.fromEntries(Object.entries(value).map(([name, member]) => [name, numbers(member)]))
            : value
    fc.assert(
      fc.property(json, fc.integer({ min: 0, max: 12 }), (value, space) => {
        const text = stringifyJson([value, 2n ** 60n], space)
        const expected = JSON.stringify([numbers(value), 7], undefined, space)
        assert.equal(stringifyJson([numbers(value), 7n], space), expected)
        assert.ok(text.includes(String(2n ** 60n)))
      }),
    )
  })

  test('treats undefined, functions and toJSON like JSON.stringify', () => {
    const value = { a: undefined, b: [undefined, () => 1], c: new Date(0), d: Number.NaN }
    assert.equal(stringifyJson({ ...value, e: 1n }), `${JSON.stringify(value).slice(0, -1)},"e":1}`)
    assert.equal(stringifyJson({ e: [1n], f: [], g: {} }, 2), '{\n  "e": [\n    1\n  ],\n  "f": [],\n  "g": {}\n}')
  })

  test('throws for circular values, but not for the same value twice', () => {
    const shared = { n: 1n }
    assert.equal(stringifyJson([shared, shared]), '[{"n":1},{"n":1}]')
    const loop: unknown[] = [1n]
    loop.push(loop)
    assert.throws(() => stringifyJson(loop), TypeError)
  })
})
