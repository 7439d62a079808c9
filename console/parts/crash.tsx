// A page that breaks takes nothing else down with it.
import { Component, type ReactNode } from 'react'

export class Crash extends Component<{ readonly children: ReactNode }, { readonly words?: string }> {
  override state: { readonly words?: string } = {}

  static getDerivedStateFromError(error: unknown): { words: string } {
    return { words: error instanceof Error ? error.message : String(error) }
  }

  override render(): ReactNode {
    const { words } = this.state
    if (words === undefined) return this.props.children
    return (
      <div role="alert" className="note bad">
        <strong>This page broke.</strong> {words}
        <br />
        <button type="button" className="plain" onClick={() => window.location.reload()}>
          Load it again
        </button>
      </div>
    )
  }
}
