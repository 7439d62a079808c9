// The current width of an element, for diagrams that compute their own layout.
import { type RefObject, useLayoutEffect, useRef, useState } from 'preact/compat'

export function useWidth<E extends HTMLElement>(): readonly [RefObject<E>, number] {
  const box = useRef<E>(null)
  const [width, setWidth] = useState(0)
  useLayoutEffect(() => {
    const element = box.current
    if (!element) return
    setWidth(element.clientWidth)
    const watch = new ResizeObserver(() => setWidth(element.clientWidth))
    watch.observe(element)
    return () => watch.disconnect()
  }, [])
  return [box, width]
}
