// The colours of ratings, as style.css defines them: differences between neighbours as people with normal vision and with
// colour blindness see them, and the contrast of texts.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { levelOf, ratingLevels } from './rating-scale.ts'

type Triple = readonly [number, number, number]

const styles = readFileSync(join(import.meta.dirname, '../style.css'), 'utf8')
const themes = ['light', 'dark'] as const

/** The value of a colour variable, which has one for each theme. */
function colourIn(theme: (typeof themes)[number], name: string): Triple {
  const match = new RegExp(`--${name}: light-dark\\((#[0-9a-f]{6}), (#[0-9a-f]{6})\\);`).exec(styles)
  assert.ok(match, `style.css defines --${name} for both themes`)
  const hex = match[theme === 'light' ? 1 : 2] ?? ''
  const channel = (at: number) => Number.parseInt(hex.slice(at, at + 2), 16) / 255
  return [channel(1), channel(3), channel(5)].map(toLinear) as unknown as Triple
}

const toLinear = (value: number): number => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4)

/** Rows of a matrix that simulates a kind of vision in linear RGB (Machado, Oliveira and Fernandes, 2009). */
const visions: Readonly<Record<string, readonly Triple[]>> = {
  normal: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  protanopia: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deuteranopia: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritanopia: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
}

const luminanceOf = ([r, g, b]: Triple): number => 0.2126 * r + 0.7152 * g + 0.0722 * b

/** WCAG contrast ratio. */
function contrast(a: Triple, b: Triple): number {
  const [high = 0, low = 0] = [luminanceOf(a), luminanceOf(b)].sort((x, y) => y - x)
  return (high + 0.05) / (low + 0.05)
}

function seenBy(vision: readonly Triple[], colour: Triple): Triple {
  const product = (row: Triple) => row[0] * colour[0] + row[1] * colour[1] + row[2] * colour[2]
  return vision.map((row) => Math.min(1, Math.max(0, product(row)))) as unknown as Triple
}

/** CIE L*a*b* with the white of sRGB. */
function labOf([r, g, b]: Triple): Triple {
  const f = (value: number) => (value > 0.008856 ? Math.cbrt(value) : 7.787 * value + 16 / 116)
  const x = f((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505)
  const y = f(0.2126 * r + 0.7152 * g + 0.0722 * b)
  const z = f((0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089)
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)]
}

function distance(a: Triple, b: Triple): number {
  const [p, q] = [labOf(a), labOf(b)]
  return Math.hypot(p[0] - q[0], p[1] - q[1], p[2] - q[2])
}

/** A difference of about 2 is just visible side by side. Small squares that are apart need much more. */
const distanceMin = 15

for (const theme of themes)
  describe(`rating colours of the ${theme} theme`, () => {
    const steps = ratingLevels.map(({ name }) => ({ name, colour: colourIn(theme, name) }))
    const card = colourIn(theme, 'card')

    for (const [name, vision] of Object.entries(visions))
      test(`neighbouring steps differ with ${name === 'normal' ? 'normal vision' : name}`, () => {
        for (const [at, { name: step, colour }] of steps.entries()) {
          const next = steps[at + 1]
          if (!next) continue
          const found = distance(seenBy(vision, colour), seenBy(vision, next.colour))
          assert.ok(found >= distanceMin, `${step} and ${next.name}: ${found.toFixed(1)}`)
        }
      })

    test('the worse a rating, the more it stands out from the card, also without colours', () => {
      const contrasts = steps.map(({ colour }) => contrast(colour, card))
      assert.deepEqual(
        contrasts,
        contrasts.toSorted((a, b) => a - b),
      )
      // What WCAG demands of graphics: here of every step that deserves attention.
      for (const worse of contrasts.slice(-2)) assert.ok(worse >= 3, String(worse))
    })

    test('the text of each badge is readable', () => {
      for (const { name, colour } of steps) {
        const found = contrast(colour, colourIn(theme, `${name}-ink`))
        assert.ok(found >= 4.5, `${name}: ${found.toFixed(2)}`)
      }
    })
  })

test('the step depends on the figure that is shown', () => {
  assert.deepEqual(
    [100, 99, 98.996, 98, 95, 92, 75, 0, null, undefined].map((value) => levelOf(value).label),
    [
      ...['99 and more', '99 and more', '99 and more', '97 to 99', '95 to 97', '90 to 95', 'below 90', 'below 90'],
      ...['no duties known', 'no duties known'],
    ],
  )
})
