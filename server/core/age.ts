// Formats an age for people, with a suitable unit.

/** `42 s`, `12 min`, `5.2 h`, `3.1 days`. */
export function ageText(seconds: number): string {
  if (seconds < 120) return `${seconds} s`
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`
  return seconds < 172_800 ? `${(seconds / 3600).toFixed(1)} h` : `${(seconds / 86_400).toFixed(1)} days`
}

/** `42 s old`, or `59 min ahead of this clock` for a time in the future. */
export function formatAgeOf(ageMs: number): string {
  const seconds = Math.round(ageMs / 1000)
  return seconds < 0 ? `${ageText(-seconds)} ahead of this clock` : `${ageText(Math.abs(seconds))} old`
}
