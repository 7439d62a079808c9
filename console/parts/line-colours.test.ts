// The colours of lines in plots: their differences as people with normal vision and with colour blindness see them. Every
// line also has a label or a place in the legend.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { colourIn, contrast, smallestDistance, themes } from '#test/colour-vision.ts'

const names = Array.from({ length: 10 }, (_, at) => `c${at + 1}`)
/** Most plots have at most four lines. They must differ clearly; ten lines must still differ. */
const [fewLines, fewDistanceMin, distanceMin] = [4, 19, 10]

for (const theme of themes)
  describe(`line colours of the ${theme} theme`, () => {
    const colours = names.map((name) => colourIn(theme, name))

    test('all lines differ for every kind of vision, the first four clearly', () => {
      for (const [at, one] of colours.entries())
        for (const [other, colour] of colours.slice(0, at).entries()) {
          const found = smallestDistance(one, colour)
          const min = at < fewLines ? fewDistanceMin : distanceMin
          assert.ok(found >= min, `${names[at]} and ${names[other]}: ${found.toFixed(1)}`)
        }
    })

    test('labels in these colours are readable on a card', () => {
      for (const [at, colour] of colours.entries()) {
        const found = contrast(colour, colourIn(theme, 'card'))
        assert.ok(found >= 4.5, `${names[at]}: ${found.toFixed(2)}`)
      }
    })
  })
