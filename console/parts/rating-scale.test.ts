// The colours of ratings, as style.css defines them: differences between neighbours as people with normal vision and with
// colour blindness see them, and the contrast of texts.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { colourIn, contrast, distance, seenBy, themes, visions } from '#test/colour-vision.ts'
import { levelOf, ratingLevels } from './rating-scale.ts'

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
