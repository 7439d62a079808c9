// A page that breaks, or that cannot be loaded, takes nothing else down with it.
import { Component, type ReactNode } from 'react'
import { Unloaded } from './unloaded.tsx'

/** The code of a page did not come. */
export class NotLoaded extends Error {}

interface CrashProps {
  /** Elsewhere is another page, which may be whole. */
  readonly at: string
  readonly children: ReactNode
}

interface CrashState {
  readonly at: string
  readonly error?: unknown
}

export class Crash extends Component<CrashProps, CrashState> {
  override state: CrashState = { at: this.props.at }

  static getDerivedStateFromProps({ at }: CrashProps, state: CrashState): CrashState | null {
    return at === state.at ? null : { at, error: undefined }
  }

  static getDerivedStateFromError(error: unknown): Partial<CrashState> {
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
