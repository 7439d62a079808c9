// Settings of hours and days, in which a source is closed or a pricing rule applies.
import { choice, PatternText, Type } from '#api/contract/kit.ts'
import { offsetMs, weekPattern } from '#core/closed-hours.ts'
import { list, object, text } from './server.ts'

export const Closed = object({
  week: Type.Optional(
    PatternText(weekPattern.source, 'be written like Fri 17:00 - Sun 17:00', {
      description: 'Closed hours of every week: `Fri 17:00 - Sun 17:00`.',
    }),
  ),
  timeZone: text('UTC', 'Time zone of the hours and days: `America/New_York`.'),
  holidays: choice(['none', 'target'], 'none', 'Public holidays. `target`: those of the euro payment system.'),
  dates: list(
    PatternText('^(\\d{4}-)?\\d\\d-\\d\\d$', 'be a date such as 2026-12-24 or 12-24'),
    400,
    'More closed days: `2026-12-24`, or `12-24` for every year.',
  ),
})

export function isTimeZone(name: string): boolean {
  try {
    offsetMs(name, 0)
    return true
  } catch {
    return false
  }
}
