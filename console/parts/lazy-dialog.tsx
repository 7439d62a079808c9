// A dialog whose code loads when it is opened.
import type { ComponentType } from 'preact/compat'
import { lazyComponent } from './lazy.tsx'
import { type DialogProps, Modal } from './modal.tsx'
import { PageNotLoaded } from './page-not-loaded.tsx'

export const lazyDialog = <Props extends DialogProps>(
  load: () => Promise<ComponentType<Props>>,
): ComponentType<Props> =>
  lazyComponent<Props>({
    load,
    waiting: null,
    failed: ({ onClose }) => (
      <Modal aria-label="Not loaded" onClose={onClose}>
        <PageNotLoaded />
      </Modal>
    ),
  })
