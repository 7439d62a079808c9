// Colours of style.css as people with normal vision and with colour blindness see them: differences, and contrast.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export type Triple = readonly [number, number, number]

const styles = readFileSync(join(import.meta.dirname, '../console/style.css'), 'utf8')
export const themes = ['light', 'dark'] as const
export type Theme = (typeof themes)[number]

/** The value of a colour variable, which has one for each theme. */
export function colourIn(theme: Theme, name: string): Triple {
  const match = new RegExp(`--${name}: light-dark\\((#[0-9a-f]{6}), (#[0-9a-f]{6})\\);`).exec(styles)
  assert.ok(match, `style.css defines --${name} for both themes`)
  const hex = match[theme === 'light' ? 1 : 2] ?? ''
  const channel = (at: number) => Number.parseInt(hex.slice(at, at + 2), 16) / 255
  return [channel(1), channel(3), channel(5)].map(toLinear) as unknown as Triple
}

/** The colour of a style: `var(--soft)`, or `color-mix(in srgb, var(--soft) 45%, var(--card))`. */
export function colourOfStyle(theme: Theme, style: string): Triple {
  const [first, second] = Array.from(style.matchAll(/var\(--([\w-]+)\)/g), ([, name = '']) => colourIn(theme, name))
  assert.ok(first, style)
  if (!second) return first
  const share = Number(/(\d+)%/.exec(style)?.[1]) / 100
  // The browser mixes the values of sRGB, not those of light.
  return first.map((value, at) =>
    toLinear(share * fromLinear(value) + (1 - share) * fromLinear(second[at] ?? 0)),
  ) as unknown as Triple
}

const fromLinear = (value: number): number => (value <= 0.0031308 ? value * 12.92 : 1.055 * value ** (1 / 2.4) - 0.055)

const toLinear = (value: number): number => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4)

/** Rows of a matrix that simulates a kind of vision in linear RGB (Machado, Oliveira and Fernandes, 2009). */
export const visions: Readonly<Record<string, readonly Triple[]>> = {
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
export function contrast(a: Triple, b: Triple): number {
  const [high = 0, low = 0] = [luminanceOf(a), luminanceOf(b)].sort((x, y) => y - x)
  return (high + 0.05) / (low + 0.05)
}

export function seenBy(vision: readonly Triple[], colour: Triple): Triple {
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

export function distance(a: Triple, b: Triple): number {
  const [p, q] = [labOf(a), labOf(b)]
  return Math.hypot(p[0] - q[0], p[1] - q[1], p[2] - q[2])
}

/** The smallest difference that any kind of vision sees between two colours. */
export const smallestDistance = (a: Triple, b: Triple): number =>
  Math.min(...Object.values(visions).map((vision) => distance(seenBy(vision, a), seenBy(vision, b))))
