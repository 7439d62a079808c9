// A stream that is read in passes, such as a market feed, and cannot keep up: a pass takes longer than its interval.

export interface StreamPasses {
  /** Passes that were due while one pass was running. */
  readonly behind: number
  /** The last finished pass, or the running one if it has taken longer. */
  readonly takesSeconds: number
  readonly everySeconds: number
}

export function measurePasses(tookMs: number, everyMs: number): StreamPasses {
  const takesMs = Math.max(0, tookMs)
  return {
    behind: takesMs > everyMs ? Math.floor(takesMs / everyMs) : 0,
    takesSeconds: Math.round(takesMs / 100) / 10,
    everySeconds: everyMs / 1000,
  }
}

/** `3 passes behind: a pass takes 180 s, the interval is 60 s` */
export function describePasses({ behind, takesSeconds, everySeconds }: StreamPasses): string {
  const passes = behind === 1 ? '1 pass' : `${behind} passes`
  return `${passes} behind: a pass takes ${takesSeconds} s, the interval is ${everySeconds} s`
}
