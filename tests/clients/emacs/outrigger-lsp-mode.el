;;; outrigger-lsp-mode.el --- Outrigger through lsp-mode -*- lexical-binding: t; coding: utf-8 -*-

;; Put this into your init file.  `M-x lsp' then starts the sidecar beside the language's other servers.
;; Start a run:       M-x outrigger-run
;; Answer a question: in the minibuffer, or M-x lsp-execute-code-action at its diagnostic.

;;; Code:

(require 'lsp-mode)

(defvar outrigger-program "outrigger"
  "The sidecar's program.")

(defun outrigger--save (_workspace params)
  "Save the buffer that PARAMS name, with exactly the bytes it has.
Without this, Emacs finds files changed on disk under its buffers."
  (let* ((path (lsp--uri-to-path (lsp-get params :uri)))
         (buffer (find-buffer-visiting path)))
    (cond
     ((not buffer) '(:saved :json-false :error "the file is not open in Emacs"))
     ((not (verify-visited-file-modtime buffer))
      '(:saved :json-false :error "the file has changed on disk since Emacs read it"))
     (t (with-current-buffer buffer
          (let ((before-save-hook nil)
                (require-final-newline nil))
            (save-buffer 0)))
        '(:saved t)))))

(lsp-register-client
 (make-lsp-client :new-connection (lsp-stdio-connection (lambda () (list outrigger-program "lsp")))
                  :activation-fn (lambda (&rest _) t)
                  :add-on? t
                  :custom-capabilities '((experimental . ((outrigger . ((version . 1) (save . t))))))
                  :request-handlers (let ((handlers (make-hash-table :test 'equal)))
                                      (puthash "outrigger/document/save" #'outrigger--save handlers)
                                      handlers)
                  :server-id 'outrigger))

(defun outrigger-run (prompt)
  "Start a run that does what PROMPT says."
  (interactive "sOutrigger, do: ")
  (lsp-send-execute-command "outrigger.run" (vector prompt)))

(provide 'outrigger-lsp-mode)
;;; outrigger-lsp-mode.el ends here
