// Shows an error in place of a page that throws. The rest of the console keeps working.
import { Component, type ReactNode } from 'preact/compat'

interface ErrorBoundaryProps {
  /** The error is cleared when the path changes. */
  readonly path: string
  readonly children: ReactNode
}

interface ErrorBoundaryState {
  readonly path: string
  readonly error?: unknown
}

export class ErrorBoundary extends Component<ErrorBoundaryProps, ErrorBoundaryState> {
  override state: ErrorBoundaryState = { path: this.props.path }

  static override getDerivedStateFromProps(
    { path }: ErrorBoundaryProps,
    state: ErrorBoundaryState,
  ): ErrorBoundaryState | null {
    return path === state.path ? null : { path, error: undefined }
  }

  static override getDerivedStateFromError(error: unknown): Partial<ErrorBoundaryState> {
    return { error: error ?? new Error('Unknown error.') }
  }

  override render(): ReactNode {
    const { error } = this.state
    if (error === undefined) return this.props.children
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
}
