// A page that breaks, or that cannot be loaded, takes nothing else down with it.
import { Component, type ReactNode } from 'react'
import { Unloaded } from './page-not-loaded.tsx'

/** The code of a page did not come. */
export class NotLoaded extends Error {}

interface ErrorBoundaryProps {
  /** Elsewhere is another page, which may be whole. */
  readonly at: string
  readonly children: ReactNode
}

interface ErrorBoundaryState {
  readonly at: string
  readonly error?: unknown
}

export class ErrorBoundary extends Component<ErrorBoundaryProps, ErrorBoundaryState> {
  override state: ErrorBoundaryState = { at: this.props.at }

  static getDerivedStateFromProps({ at }: ErrorBoundaryProps, state: ErrorBoundaryState): ErrorBoundaryState | null {
    return at === state.at ? null : { at, error: undefined }
  }

  static getDerivedStateFromError(error: unknown): Partial<ErrorBoundaryState> {
    return { error: error ?? new Error('It does not say why.') }
  }

  override render(): ReactNode {
    const { error } = this.state
    if (error === undefined) return this.props.children
    if (error instanceof NotLoaded) return <Unloaded />
    return (
      <div role="alert" className="note bad">
        <strong>This page broke.</strong> {error instanceof Error ? error.message : String(error)}
        <br />
        <button type="button" className="plain" onClick={() => window.location.reload()}>
          Load it again
        </button>
      </div>
    )
  }
}
