// Shows an error in place of a page that throws. The rest of the console keeps working.
import { type ReactNode, useEffect } from 'preact/compat'
import { useErrorBoundary } from 'preact/hooks'

interface ErrorBoundaryProps {
  /** The error is cleared when the path changes. */
  readonly path: string
  readonly children: ReactNode
}

export function ErrorBoundary({ path, children }: ErrorBoundaryProps) {
  const [error, clearError] = useErrorBoundary() as [unknown, () => void]
  // biome-ignore lint/correctness/useExhaustiveDependencies: another page may work
  useEffect(clearError, [path])
  if (error === undefined) return <>{children}</>
  return (
    <div role="alert" className="note bad">
      <strong>This page failed:</strong> {error instanceof Error ? error.message : String(error)}
      <br />
      <button type="button" className="plain" onClick={() => window.location.reload()}>
        Reload the page
      </button>
    </div>
  )
}
