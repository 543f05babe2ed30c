;;; lsp-mode-test.el --- Outrigger from Emacs: lsp-mode as it comes -*- lexical-binding: t; coding: utf-8 -*-

;; emacs -Q --batch -l lsp-mode-test.el, with `outrigger' on the PATH
;;
;; With the few lines of outrigger-lsp-mode.el, and no other support: a run is started by a command, its findings are lsp-mode's,
;; one question is answered in the minibuffer, one by a code action.  Ends with a line that counts the checks.

;;; Code:

(load (expand-file-name "support.el" (file-name-directory load-file-name)) nil t)
(setq user-emacs-directory test-state)
(add-to-list 'load-path (file-name-directory load-file-name))
;; -Q has not read them.
(load "lsp-mode-autoloads" nil t)
(require 'outrigger-lsp-mode)

(setq lsp-auto-guess-root t
      lsp-restart 'ignore
      lsp-warn-no-matched-clients nil
      lsp-enable-file-watchers nil
      lsp-diagnostics-provider :none
      lsp-idle-delay 0.01
      lsp-debounce-full-sync-notifications-interval 0.01
      test-idle #'lsp--flush-delayed-changes)

(defun test-diagnostic (text)
  "The diagnostic of this buffer's file that has TEXT."
  (cl-find-if (lambda (diagnostic)
                (string-match-p (regexp-quote text) (lsp:diagnostic-message diagnostic)))
              (gethash buffer-file-name (lsp-diagnostics))))

(defun test-answer (prompt collection &rest _)
  "Answer PROMPT with the choice of COLLECTION that is meant; leave other questions to their diagnostics."
  (push prompt test-asked)
  (if (string-match-p "Wie groß" prompt)
      (cl-find "drei" (all-completions "" collection) :test #'string=)
    (when (string-match-p "cannot go on" prompt)
      (princ (format "FAIL %s\n" prompt)))
    ;; What a person does with C-g.
    nil))

(define-derived-mode test-rust-mode prog-mode "Rust")
(add-to-list 'auto-mode-alist '("\\.rs\\'" . test-rust-mode))
(add-to-list 'lsp-language-id-configuration '(test-rust-mode . "rust"))
(setenv "OUTRIGGER_MODEL" (test-script "lsp-mode"))
(advice-add 'completing-read :override #'test-answer)
(find-file (concat test-root "src/lib.rs"))
(lsp)
(test-wait "lsp-mode manages the buffer"
           (lambda () (and lsp-mode
                           (cl-some (lambda (workspace) (eq 'initialized (lsp--workspace-status workspace)))
                                    (lsp-workspaces)))))
(outrigger-run "größer")
(let* ((finding (test-wait "the finding is a diagnostic" (lambda () (test-diagnostic "mismatched types"))))
       (place (lsp--range-to-region (lsp:diagnostic-range finding))))
  (unless (string= "\"漢字\"" (buffer-substring (car place) (cdr place)))
    (error "The finding is at %S" (buffer-substring (car place) (cdr place))))
  (test-ok "the finding is exactly at the text that is wrong"))
(test-wait "the first question is asked in the minibuffer"
           (lambda () (cl-some (lambda (prompt) (string-match-p "Wie groß" prompt)) test-asked)))
(let ((question (test-wait "the second question is a diagnostic" (lambda () (test-diagnostic "Und wie schnell?")))))
  (goto-char (car (lsp--range-to-region (lsp:diagnostic-range question))))
  (lsp-execute-code-action
   (or (cl-find-if (lambda (action) (string-match-p "rasch" (lsp:code-action-title action)))
                   (lsp-code-actions-at-point))
       (error "No code action answers"))))
(test-wait "the question is gone" (lambda () (not (test-diagnostic "Und wie schnell?"))))
(test-wait "the finding is gone" (lambda () (not (test-diagnostic "mismatched types"))))
(let ((expected (replace-regexp-in-string "    1\n" "    3\n" test-lib)))
  (test-wait "the buffer has the edit" (lambda () (string= expected (buffer-string))))
  (test-wait "the file has the edit"
             (lambda () (string= expected (test-read (concat test-root "src/lib.rs"))))))
(when (or (buffer-modified-p) (not (verify-visited-file-modtime)))
  (error "The buffer and the file have parted"))
(test-ok "the buffer and the file are the same")
(princ (format "%d passed, 0 failed\n" test-passed))

;;; lsp-mode-test.el ends here
