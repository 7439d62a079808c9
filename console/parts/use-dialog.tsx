// A dialog whose code loads when it is first opened.
import { type ComponentType, type ReactNode, useState } from 'preact/compat'

export interface DialogProps {
  readonly onClose: () => void
}

export function useDialog(load: () => Promise<ComponentType<DialogProps>>): readonly [ReactNode, () => void] {
  const [Dialog, setDialog] = useState<ComponentType<DialogProps>>()
  const open = () =>
    void load().then(
      (loaded) => setDialog(() => loaded),
      () => window.alert('The server does not respond. Reload the page when it is running.'),
    )
  return [Dialog && <Dialog onClose={() => setDialog(undefined)} />, open]
}
