// Whether a time has passed. Changes when it does.
import { useEffect, useState } from 'preact/compat'

/** Browsers fire a longer timeout at once. */
const timeoutMsMax = 2_147_483_647

/** `time` is an ISO 8601 text; undefined has not passed. */
export function useIsPast(time: string | undefined): boolean {
  const isPast = time !== undefined && Date.parse(time) <= Date.now()
  const [, setPassed] = useState<string>()
  useEffect(() => {
    if (time === undefined || isPast) return
    const timer = setTimeout(() => setPassed(time), Math.min(timeoutMsMax, Date.parse(time) - Date.now()))
    return () => clearTimeout(timer)
  }, [time, isPast])
  return isPast
}
