// Asks before an action that cannot be undone. Cancel comes first, so it has the focus; Escape cancels too.
import type { ReactNode } from 'preact/compat'
import { type DialogProps, Modal } from './modal.tsx'

interface ConfirmDialogProps extends DialogProps {
  readonly title: string
  /** What happens. */
  readonly children: ReactNode
  /** The text of the button, a verb. */
  readonly action: string
  readonly onConfirm: () => void
}

export function ConfirmDialog({ title, children, action, onConfirm, onClose }: ConfirmDialogProps) {
  const confirm = () => {
    onClose()
    onConfirm()
  }
  return (
    <Modal role="alertdialog" aria-labelledby="confirm-title" aria-describedby="confirm-text" onClose={onClose}>
      <h2 id="confirm-title">{title}</h2>
      <p id="confirm-text">{children}</p>
      <p className="row">
        <button type="button" onClick={onClose}>
          Cancel
        </button>
        <button type="button" className="danger" onClick={confirm}>
          {action}
        </button>
      </p>
    </Modal>
  )
}
