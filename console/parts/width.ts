// How wide a box is, now and whenever it changes: for pictures that lay themselves out.
import { type RefObject, useLayoutEffect, useRef, useState } from 'react'

export function useWidth<E extends HTMLElement>(): readonly [RefObject<E | null>, number] {
  const box = useRef<E>(null)
  const [width, setWidth] = useState(0)
  useLayoutEffect(() => {
    const seen = box.current
    if (!seen) return
    setWidth(seen.clientWidth)
    const watch = new ResizeObserver(() => setWidth(seen.clientWidth))
    watch.observe(seen)
    return () => watch.disconnect()
  }, [])
  return [box, width]
}
