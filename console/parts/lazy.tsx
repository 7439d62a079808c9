// A component whose code loads when it is first shown. `lazy` and `Suspense` of Preact lose elements of what is shown
// instead of a component that could not be loaded.
import { type ComponentType, type ReactNode, useEffect, useState } from 'preact/compat'

interface LazyOptions<Props> {
  readonly load: () => Promise<ComponentType<Props>>
  readonly waiting: ReactNode
  /** Shown if the code could not be loaded. */
  readonly failed: (props: Props) => ReactNode
}

export function lazyComponent<Props extends object>({ load, waiting, failed }: LazyOptions<Props>) {
  let loaded: ComponentType<Props> | undefined
  return function Lazy(props: Props) {
    const [Component, setComponent] = useState(() => loaded)
    const [hasFailed, setFailed] = useState(false)
    useEffect(() => {
      if (loaded) return
      load().then(
        (component) => {
          loaded = component
          setComponent(() => component)
        },
        () => setFailed(true),
      )
    }, [])
    if (hasFailed) return failed(props)
    return Component ? <Component {...props} /> : waiting
  }
}
