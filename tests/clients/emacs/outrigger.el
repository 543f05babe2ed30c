;;; outrigger.el --- Outrigger through eglot -*- lexical-binding: t; coding: utf-8 -*-

;; Put this into your init file.  `M-x eglot' in a project then starts the sidecar beside nothing else.
;; Start a run:       M-x outrigger-run
;; Answer a question: in the minibuffer, or M-x eglot-code-actions at its diagnostic.

;;; Code:

(require 'cl-lib)
(require 'eglot)

(defclass outrigger-server (eglot-lsp-server) ()
  :documentation "The sidecar.")

(defvar outrigger-program "outrigger"
  "The sidecar's program.")

;; That it may save what it has changed: without it, Emacs finds files changed on disk under its buffers.
(cl-defmethod eglot-client-capabilities :around ((_server outrigger-server))
  (plist-put (copy-sequence (cl-call-next-method)) :experimental '(:outrigger (:version 1 :save t))))

(cl-defmethod eglot-handle-request ((_server outrigger-server) (_method (eql outrigger/document/save)) &key uri)
  "Save the buffer of URI, with exactly the bytes it has."
  (let ((buffer (find-buffer-visiting (eglot--uri-to-path uri))))
    (if (not buffer)
        '(:saved :json-false :error "the file is not open in Emacs")
      (with-current-buffer buffer
        (if (not (verify-visited-file-modtime))
            '(:saved :json-false :error "the file has changed on disk since Emacs read it")
          (let ((before-save-hook nil)
                (require-final-newline nil))
            (save-buffer 0))
          '(:saved t))))))

(defun outrigger-run (prompt &optional model)
  "Start a run that does what PROMPT says, with MODEL or the configured one."
  (interactive "sOutrigger, do: ")
  (jsonrpc-request (eglot--current-server-or-lose) :workspace/executeCommand
                   (list :command "outrigger.run"
                         :arguments (vector (append (list :prompt prompt) (when model (list :model model)))))))

(provide 'outrigger)
;;; outrigger.el ends here
